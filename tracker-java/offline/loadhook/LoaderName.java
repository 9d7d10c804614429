package loadhook;

import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.Map;

/**
 * The name of a class loader in profiles: the name that the program gave it, else its class's, and all but the first of a name
 * with an ordinal, {@code a.Loader#2}. No two loaders of a process have one name, whichever tracker they belong to; the
 * copies of an archive in loaders of one class and name have the first one's.
 */
final class LoaderName extends WeakKey<ClassLoader> {
    private static final LoaderName BOOTSTRAP = new LoaderName(null, "");
    /** By themselves, the first ones. */
    private static final Map<LoaderName, LoaderName> ALL = new HashMap<LoaderName, LoaderName>();
    /** {@code StackTraceElement.getClassLoaderName}, from Java 9 on; else null. */
    private static final Method NAME = nameOfFrame();
    /** How many have a name that was agreed on with nobody. */
    private static int alone;

    private final String base;
    /** Null until a profile is written; kept, so that a second one has the same names. */
    private String name;

    private LoaderName(ClassLoader loader, String base) {
        super(loader, null);
        this.base = base;
    }

    /** The loader of a class, called so. */
    static LoaderName of(Class<?> part, String base) {
        ClassLoader loader = part.getClassLoader();
        if (loader == null) {
            return BOOTSTRAP;
        }
        LoaderName made = new LoaderName(loader, base);
        synchronized (ALL) {
            LoaderName known = ALL.get(made);
            if (known == null) {
                ALL.put(made, made);
                known = made;
            }
            return known;
        }
    }

    static String className(Class<?> part) {
        ClassLoader loader = part.getClassLoader();
        return loader == null ? "" : loader.getClass().getName();
    }

    /**
     * The name that the program gave the loader of a class, of which a method is under way in this thread; empty if there is
     * none. {@code ClassLoader.getName} may be overridden: the JVM says in stack traces what it was given.
     */
    static String givenName(Class<?> part) {
        if (NAME == null || part.getClassLoader() == null) {
            return "";
        }
        try {
            for (StackTraceElement frame : new Throwable().getStackTrace()) {
                if (frame.getClassName().equals(part.getName())) {
                    Object name = NAME.invoke(frame);
                    return name == null ? "" : (String) name;
                }
            }
        } catch (Exception error) {
            // It is called by its class.
        }
        return "";
    }

    private static Method nameOfFrame() {
        try {
            return StackTraceElement.class.getMethod("getClassLoaderName");
        } catch (Exception error) {
            return null;
        }
    }

    /** For the one thread that writes a profile. */
    String name() {
        if (name == null) {
            name = this == BOOTSTRAP ? "" : common();
        }
        if (name == null) {
            int number = ThisProcess.nextLoader(base);
            if (number == 0) {
                number = ++alone;
            }
            name = number == 1 ? base : base + "#" + number;
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
