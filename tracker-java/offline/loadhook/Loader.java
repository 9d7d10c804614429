package loadhook;

import java.util.HashMap;
import java.util.Map;

/**
 * What profiles call a class loader: by its class, and all but the first of a class with an ordinal, {@code a.Loader#2}. No two
 * loaders of a process have one name, whichever tracker they belong to.
 */
final class Loader extends Weak<ClassLoader> {
    private static final Loader BOOTSTRAP = new Loader(null, "");
    /** By themselves. */
    private static final Map<Loader, Loader> ALL = new HashMap<Loader, Loader>();
    /** How many have a name that was agreed on with nobody. */
    private static int alone;

    private final String className;
    /** Null until a profile is written; kept, so that a second one has the same names. */
    private String name;

    private Loader(ClassLoader loader, String className) {
        super(loader);
        this.className = className;
    }

    static Loader of(ClassLoader loader) {
        if (loader == null) {
            return BOOTSTRAP;
        }
        Loader made = new Loader(loader, loader.getClass().getName());
        synchronized (ALL) {
            Loader known = ALL.get(made);
            if (known == null) {
                ALL.put(made, made);
                known = made;
            }
            return known;
        }
    }

    /** For the one thread that writes a profile. */
    String name() {
        if (name == null) {
            name = this == BOOTSTRAP ? "" : common();
        }
        if (name == null) {
            int number = ThisProcess.nextLoader(className);
            if (number == 0) {
                number = ++alone;
            }
            name = number == 1 ? className : className + "#" + number;
        }
        return name;
    }

    /** The name of a loader that each process has; null of another one, or where it is forbidden to ask. */
    private String common() {
        try {
            ClassLoader app = ClassLoader.getSystemClassLoader();
            ClassLoader platform = app;
            while (platform.getParent() != null) {
                platform = platform.getParent();
            }
            ClassLoader loader = get();
            return loader == app ? "app" : loader == platform ? "platform" : null;
        } catch (SecurityException error) {
            return null;
        }
    }
}
