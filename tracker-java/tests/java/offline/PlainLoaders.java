import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;

/**
 * Runs Work in a given number of class loaders, and closes them. With a third argument, the loaders belong to two
 * classes in turn.
 */
public class PlainLoaders {
    public static void main(String[] args) throws Exception {
        URL[] urls = {new File(args[0]).toURI().toURL()};
        for (int n = 0; n < Integer.parseInt(args[1]); n++) {
            ClassLoader parent = PlainLoaders.class.getClassLoader();
            boolean other = args.length > 2 && n % 2 == 1;
            try (URLClassLoader loader = other ? new Other(urls, parent) : new URLClassLoader(urls, parent)) {
                loader.loadClass("Work").getMethod("main", String[].class).invoke(null, (Object) new String[0]);
            }
        }
    }

    private static final class Other extends URLClassLoader {
        Other(URL[] urls, ClassLoader parent) {
            super(urls, parent);
        }
    }
}
