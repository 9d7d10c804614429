package loadhook;

import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.Map;

/**
 * The name of a class loader in profiles: the name that the program gave it, otherwise the name of its class. If
 * several loaders have the same name, all but the first get an ordinal, {@code a.Loader#2}. All trackers of the
 * process agree on the ordinals. If the loaders of an archive's copies have the same class and name, they share
 * the name of the first loader.
 */
final class LoaderName extends WeakKey<ClassLoader> {
    private static final LoaderName BOOTSTRAP = new LoaderName(null, "");
    /** All loaders. Each is its own key, which does not keep the loader alive. */
    private static final Map<LoaderName, LoaderName> ALL = new HashMap<LoaderName, LoaderName>();
    /** {@code StackTraceElement.getClassLoaderName}, which exists from Java 9 on; null before. */
    private static final Method NAME = nameOfFrame();
    /** Number of loaders for which this tracker and the other trackers of the process could not agree on an ordinal. */
    private static int alone;

    private final String base;
    /**
     * The loader's name; null until a profile is written. It is stored so that a second profile has
     * the same names.
     */
    private String name;

    private LoaderName(ClassLoader loader, String base) {
        super(loader, null);
        this.base = base;
    }

    /**
     * Returns the name of a class's loader. A loader that is not known yet gets the name {@code base}, with an
     * ordinal if needed.
     */
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
     * Returns the name that the program gave the loader of a class; empty if there is none. The name is read from
     * a stack trace, so a method of the class must be on this thread's stack. {@code ClassLoader.getName} is not
     * called, because programs may override it.
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
            // Without a name of its own, the loader gets the name of its class.
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

    /** Returns the loader's name. Only the thread that writes a profile calls this method. */
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

    /**
     * Returns the name of a loader that every process has, for example {@code app}. Returns null for other
     * loaders, and if a security manager forbids access.
     */
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
