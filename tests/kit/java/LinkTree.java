import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Makes HotSpot link every class of a tree, without running any code of it.
 *
 * {@code LinkTree TREE [CLASS PATH ENTRY]...}. Each class file gets a new loader, which defines
 * that file and, on demand, the other classes of the tree. These classes must share a loader: if
 * the classes of a package were in two loaders, package access would fail. So subclasses of a bad
 * class also fail; the message names the bad class. Standard output has one line for each class
 * file, {@code OK  path} or {@code FAIL  path  error}, with escaped fields that are separated by
 * tabs; the last line has the count. A module-info, which cannot be linked, is OK.
 */
public final class LinkTree {
    private static final int MESSAGE_LINES = 8;

    private LinkTree() {}

    public static void main(String[] args) throws MalformedURLException {
        if (args.length < 1) {
            System.err.println("usage: LinkTree TREE [CLASS PATH ENTRY]...");
            System.exit(2);
        }
        Path root = Path.of(args[0]);
        List<URL> classPath = new ArrayList<>();
        for (int i = 1; i < args.length; i++) {
            classPath.add(Path.of(args[i]).toUri().toURL());
        }
        ClassLoader parent = new URLClassLoader(classPath.toArray(new URL[0]), LinkTree.class.getClassLoader());
        ClassTree tree = new ClassTree(root);
        List<Path> files = ClassTree.files(root);
        List<String> lines = files.parallelStream().map(file -> {
            String error = link(ClassTree.read(file), tree, parent);
            String path = Lines.escape(root.relativize(file).toString());
            return error == null ? "OK\t" + path : "FAIL\t" + path + "\t" + Lines.escape(error);
        }).collect(Collectors.toList());
        StringBuilder out = new StringBuilder();
        lines.forEach(line -> out.append(line).append('\n'));
        System.out.println(out.append("DONE\t").append(files.size()));
    }

    private static String link(byte[] bytes, ClassTree tree, ClassLoader parent) {
        try {
            Linking.link(new Neighbourhood(tree, parent).define(bytes));
            return null;
        } catch (Throwable e) {
            if (isModule(bytes)) {
                return null;
            }
            return Linking.describe(e, MESSAGE_LINES);
        }
    }

    private static boolean isModule(byte[] bytes) {
        try {
            return new ClassBytes(bytes).isModule();
        } catch (ClassBytes.Malformed e) {
            return false;
        }
    }

    /** A loader that defines one class file, and the tree's other classes on demand. */
    private static final class Neighbourhood extends ClassLoader {
        private final ClassTree tree;

        Neighbourhood(ClassTree tree, ClassLoader parent) {
            super(parent);
            this.tree = tree;
        }

        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }

        /** The tree takes precedence over the parents, since it may have another version of their classes. */
        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            synchronized (getClassLoadingLock(name)) {
                Class<?> loaded = findLoadedClass(name);
                if (loaded != null) {
                    return loaded;
                }
                byte[] bytes = name.startsWith("java.") ? null : tree.named(name.replace('.', '/'));
                return bytes == null ? super.loadClass(name, resolve) : defineClass(name, bytes, 0, bytes.length);
            }
        }
    }
}
