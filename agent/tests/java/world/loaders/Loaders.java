import java.io.IOException;
import java.lang.ref.WeakReference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;

/** One class in loaders of every kind. */
public final class Loaders {
    /** Loads the classes of its folder itself. {@link #delegates} selects the classes that it leaves to its parent. */
    static class FolderFirst extends ClassLoader {
        private final Path folder;

        FolderFirst(Path folder, ClassLoader parent) {
            super(parent);
            this.folder = folder;
        }

        boolean delegates(String name) {
            return true;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            synchronized (getClassLoadingLock(name)) {
                Class<?> loaded = findLoadedClass(name);
                if (loaded != null) {
                    return loaded;
                }
                Path file = folder.resolve(name.replace('.', '/') + ".class");
                if (Files.exists(file)) {
                    try {
                        byte[] bytes = Files.readAllBytes(file);
                        return defineClass(name, bytes, 0, bytes.length);
                    } catch (IOException e) {
                        throw new ClassNotFoundException(name, e);
                    }
                }
                if (!delegates(name)) {
                    throw new ClassNotFoundException(name);
                }
                return super.loadClass(name, resolve);
            }
        }
    }

    static final class Parallel extends FolderFirst {
        static {
            registerAsParallelCapable();
        }

        Parallel(Path folder) {
            super(folder, Loaders.class.getClassLoader());
        }
    }

    /** As in OSGi, a bundle sees java.* and its imports. This one has no imports. */
    static final class Bundle extends FolderFirst {
        Bundle(Path folder) {
            super(folder, Loaders.class.getClassLoader());
        }

        @Override
        boolean delegates(String name) {
            return name.startsWith("java.");
        }
    }

    /** Overrides getName, which the agent must not call. */
    static final class Named extends ClassLoader {
        private final Path folder;

        Named(String name, Path folder) {
            super(name, Loaders.class.getClassLoader());
            this.folder = folder;
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            try {
                byte[] bytes = Files.readAllBytes(folder.resolve(name.replace('.', '/') + ".class"));
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }

        @Override
        public String getName() {
            if (folder != null) {
                throw new IllegalStateException("called");
            }
            // The constructor of ClassLoader calls this method.
            return super.getName();
        }
    }

    static void run(ClassLoader loader, int times) throws Exception {
        Runnable plugin = (Runnable) loader.loadClass("plug.Plugin").getConstructor().newInstance();
        for (int i = 0; i < times; i++) {
            plugin.run();
        }
    }

    static void parallel(Path a) throws Exception {
        Parallel loader = new Parallel(a);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            Thread thread = new Thread(() -> {
                try {
                    run(loader, 100);
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            });
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    static void unload(Path a) throws Exception {
        List<WeakReference<ClassLoader>> loaders = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            Bundle bundle = new Bundle(a);
            loaders.add(new WeakReference<>(bundle));
            run(bundle, 10);
            bundle = null;
            if (i % 50 == 49) {
                System.gc();
            }
        }
        for (int i = 0; i < 100 && loaders.stream().anyMatch(loader -> loader.get() != null); i++) {
            System.gc();
            Thread.sleep(10);
        }
        System.out.println("unloaded: " + loaders.stream().filter(loader -> loader.get() == null).count());
    }

    public static void main(String[] args) throws Exception {
        Path a = Paths.get(args[1]);
        Path b = Paths.get(args[2]);
        switch (args[0]) {
            case "several":
                run(new Bundle(a), 1);
                run(new Bundle(a), 2);
                run(new Bundle(b), 3);
                run(new Bundle(b), 4);
                run(new FolderFirst(b, null), 5);
                break;
            case "parallel":
                parallel(a);
                break;
            case "child-first":
                run(Loaders.class.getClassLoader(), 5);
                run(new FolderFirst(b, Loaders.class.getClassLoader()), 7);
                break;
            case "named":
                run(new Named("plugins", a), 1);
                run(new Named("app", b), 2);
                run(new Bundle(a), 3);
                run(new Named("plugins", b), 4);
                run(new Bundle(b), 5);
                run(new Named("店", a), 6);
                break;
            case "found":
                Class<?> found = Class.forName("plug.Plugin");
                System.out.println(found.getClassLoader() == null);
                run(ClassLoader.getSystemClassLoader(), 6);
                break;
            case "unload":
                unload(a);
                break;
            default:
                throw new IllegalArgumentException(args[0]);
        }
        System.out.println(args[0]);
    }
}
