import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;

/** Runs threads. Each has a class loader to which nothing but the thread refers. */
public class PlainWeak {
    public static void main(String[] args) throws Exception {
        WeakReference<?>[] loaders = new WeakReference<?>[20];
        for (int n = 0; n < loaders.length; n++) {
            loaders[n] = run("brief-" + n);
        }
        int left = loaders.length;
        for (int n = 0; n < 100 && left > 0; n++) {
            System.gc();
            Thread.sleep(10);
            left = 0;
            for (WeakReference<?> loader : loaders) {
                left += loader.get() == null ? 0 : 1;
            }
        }
        System.out.println(left + " loaders left");
    }

    private static WeakReference<ClassLoader> run(String name) throws Exception {
        ClassLoader loader = new URLClassLoader(new URL[0]);
        Thread thread = new Thread(Work::work, name);
        thread.setContextClassLoader(loader);
        thread.start();
        thread.join();
        return new WeakReference<ClassLoader>(loader);
    }
}
