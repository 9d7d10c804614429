import java.io.File;
import java.lang.ref.WeakReference;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;

/**
 * Runs Alpha in a given number of class loaders, one after the other. Prints how many loaders have not been collected,
 * and for how many of them the ticker still runs. A third argument is the beginning of the loaders' names; without it
 * they have no names.
 */
public class PlainRounds {
    public static void main(String[] args) throws Exception {
        // Threads that are started in Alpha inherit this value. They must not keep alive the loader that the value
        // refers to.
        InheritableThreadLocal<Object> local = new InheritableThreadLocal<Object>();
        URL[] urls = {new File(args[0]).toURI().toURL()};
        WeakReference<?>[] loaders = new WeakReference<?>[Integer.parseInt(args[1])];
        for (int n = 0; n < loaders.length; n++) {
            try (URLClassLoader loader = loader(urls, args.length > 2 ? args[2] + n : null)) {
                local.set(loader);
                loader.loadClass("Alpha").getMethod("main", String[].class).invoke(null, (Object) new String[0]);
                loaders[n] = new WeakReference<ClassLoader>(loader);
            }
        }
        local.remove();
        int left = left(loaders);
        for (int n = 0, before = left + 1; left > 0 && (n < 10 || left < before); n++) {
            System.gc();
            Thread.sleep(10);
            before = left;
            left = left(loaders);
        }
        int ticking = 0;
        for (WeakReference<?> loader : loaders) {
            ticking += loader.get() != null && ticks((ClassLoader) loader.get()) ? 1 : 0;
        }
        int tickers = 0;
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            tickers += thread.getName().equals("loadhook-ticker") ? 1 : 0;
        }
        System.out.println(left + " loaders left, " + ticking + " with ticks of " + tickers + " threads");
    }

    private static URLClassLoader loader(URL[] urls, String name) throws Exception {
        ClassLoader parent = PlainRounds.class.getClassLoader();
        if (name == null) {
            return new URLClassLoader(urls, parent);
        }
        // Class loaders have names from Java 9 on.
        return URLClassLoader.class.getConstructor(String.class, URL[].class, ClassLoader.class).newInstance(name, urls, parent);
    }

    private static boolean ticks(ClassLoader loader) throws Exception {
        Method last = loader.loadClass("loadhook.Ticker").getDeclaredMethod("last");
        last.setAccessible(true);
        return (Integer) last.invoke(null) != 0;
    }

    private static int left(WeakReference<?>[] loaders) {
        int left = 0;
        for (WeakReference<?> loader : loaders) {
            left += loader.get() == null ? 0 : 1;
        }
        return left;
    }
}
