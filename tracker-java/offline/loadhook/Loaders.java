package loadhook;

import java.util.IdentityHashMap;
import java.util.Map;

/** What a profile calls class loaders: as the agent does. */
final class Loaders {
    private static final int FIRST_OTHER = 3;

    private final Map<ClassLoader, String> names = new IdentityHashMap<ClassLoader, String>();
    private int next = FIRST_OTHER;

    Loaders() {
        try {
            ClassLoader app = ClassLoader.getSystemClassLoader();
            ClassLoader platform = app;
            while (platform.getParent() != null) {
                platform = platform.getParent();
            }
            names.put(platform, "platform");
            names.put(app, "app");
        } catch (SecurityException error) {
            // Numbers, then.
        }
    }

    String name(ClassLoader loader) {
        if (loader == null) {
            return "";
        }
        String name = names.get(loader);
        if (name == null) {
            name = "loader-" + next++;
            names.put(loader, name);
        }
        return name;
    }
}
