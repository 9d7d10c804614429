import java.io.InputStream;
import java.lang.ref.WeakReference;

/** The same class in two loaders. One of the loaders is collected before the program ends. */
public class AllocatingLoaders {
    public static class Plugin implements Runnable {
        Object part;
        Object other;

        @Override
        public void run() {
            for (int at = 0; at < 100; at++) {
                part = new Part();
                other = new Object();
            }
        }
    }

    public static class Part {
        long a;
        long b;
        long c;
    }

    static class Own extends ClassLoader {
        Own(String name) {
            super(name, AllocatingLoaders.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith("AllocatingLoaders$P")) {
                return super.loadClass(name, resolve);
            }
            Class<?> loaded = findLoadedClass(name);
            if (loaded != null) {
                return loaded;
            }
            try (InputStream stream = getParent().getResourceAsStream(name + ".class")) {
                byte[] bytes = stream.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (java.io.IOException error) {
                throw new ClassNotFoundException(name, error);
            }
        }
    }

    static Object kept;

    static Object run(String loader) throws Exception {
        Class<?> plugin = new Own(loader).loadClass("AllocatingLoaders$Plugin");
        Runnable made = (Runnable) plugin.getConstructor().newInstance();
        made.run();
        return made;
    }

    public static void main(String[] args) throws Exception {
        kept = run("kept");
        WeakReference<Object> gone = new WeakReference<>(run("gone").getClass().getClassLoader());
        while (gone.get() != null) {
            System.gc();
        }
    }
}
