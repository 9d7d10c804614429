import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;

/** Runs Work in so many loaders of its own, which it closes. */
public class PlainLoaders {
    public static void main(String[] args) throws Exception {
        URL[] urls = {new File(args[0]).toURI().toURL()};
        for (int n = 0; n < Integer.parseInt(args[1]); n++) {
            try (URLClassLoader loader = new URLClassLoader(urls, PlainLoaders.class.getClassLoader())) {
                loader.loadClass("Work").getMethod("main", String[].class).invoke(null, (Object) new String[0]);
            }
        }
    }
}
