package loadhook;

import java.util.IdentityHashMap;
import java.util.Map;

/**
 * What profiles call class loaders: by their classes, and all but the first of a class with an ordinal, {@code a.Loader#2}. No two
 * loaders of a process have one name, whichever tracker they belong to.
 */
final class Loaders {
    /** Kept, so that a second profile has the same names. */
    private static final Map<ClassLoader, String> NAMES = new IdentityHashMap<ClassLoader, String>();

    private Loaders() {
    }

    static synchronized String name(ClassLoader loader) {
        if (loader == null) {
            return "";
        }
        if (NAMES.isEmpty()) {
            common();
        }
        String name = NAMES.get(loader);
        if (name == null) {
            String className = loader.getClass().getName();
            int number = ThisProcess.nextLoader(className);
            if (number == 0) {
                // Nobody to agree with.
                number = NAMES.size();
            }
            name = number == 1 ? className : className + "#" + number;
            NAMES.put(loader, name);
        }
        return name;
    }

    private static void common() {
        try {
            ClassLoader app = ClassLoader.getSystemClassLoader();
            ClassLoader platform = app;
            while (platform.getParent() != null) {
                platform = platform.getParent();
            }
            NAMES.put(platform, "platform");
            NAMES.put(app, "app");
        } catch (SecurityException error) {
            // By their classes, then.
        }
    }
}
