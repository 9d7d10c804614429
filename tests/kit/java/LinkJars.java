import java.io.IOException;
import java.io.InputStream;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Enumeration;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/**
 * Makes HotSpot link every class of many jars, without running any code of them.
 *
 * {@code LinkJars JAR...}. One loader sees all jars, like the class path of a program. Of several
 * class files with the same name, it loads only one, and it loads no class file for a later
 * release. Each class file that is left out gets a loader of its own, which takes other classes
 * from the jar of that file, or else from all jars. Standard output has one line for each class
 * file, {@code OK jar!entry} or {@code FAIL  jar!entry  error}, with escaped fields that are
 * separated by tabs; the last line has the count.
 */
public final class LinkJars {
    private static final int MESSAGE_LINES = 1;

    private LinkJars() {}

    public static void main(String[] args) throws IOException {
        AllJars all = new AllJars(args);
        StringBuilder out = new StringBuilder();
        int count = 0;
        for (String path : args) {
            String jar = Path.of(path).getFileName().toString();
            try (JarFile file = new JarFile(path)) {
                List<JarEntry> entries = new ArrayList<>();
                for (Enumeration<JarEntry> each = file.entries(); each.hasMoreElements();) {
                    JarEntry entry = each.nextElement();
                    if (entry.getName().endsWith(".class")) {
                        entries.add(entry);
                    }
                }
                for (JarEntry entry : entries) {
                    String error = link(all, file, entry, path);
                    String name = Lines.escape(jar + "!" + entry.getName());
                    out.append(error == null ? "OK\t" + name : "FAIL\t" + name + "\t" + Lines.escape(error)).append('\n');
                    count++;
                }
            }
        }
        System.out.println(out.append("DONE\t").append(count));
    }

    private static String link(AllJars all, JarFile jar, JarEntry entry, String path) {
        String name = entry.getName().substring(0, entry.getName().length() - 6).replace('/', '.');
        try {
            byte[] bytes;
            try (InputStream in = jar.getInputStream(entry)) {
                bytes = in.readAllBytes();
            }
            Class<?> loaded = null;
            if (!name.contains("-")) {
                loaded = Class.forName(name, false, all);
            }
            boolean isIt = loaded != null && loaded.getClassLoader() == all && path.equals(all.origins.get(name));
            Linking.link(isIt ? loaded : new JarFirst(all, jar).define(bytes));
            return null;
        } catch (Throwable e) {
            return Linking.describe(e, MESSAGE_LINES);
        }
    }

    /** A loader that reads the jars itself, so that the jar of a class is known. */
    private static final class AllJars extends URLClassLoader {
        final ConcurrentHashMap<String, String> origins = new ConcurrentHashMap<>();

        AllJars(String[] jars) throws MalformedURLException {
            super(urls(jars), ClassLoader.getPlatformClassLoader());
        }

        private static URL[] urls(String[] jars) throws MalformedURLException {
            URL[] urls = new URL[jars.length];
            for (int i = 0; i < jars.length; i++) {
                urls[i] = Path.of(jars[i]).toUri().toURL();
            }
            return urls;
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            URL found = findResource(name.replace('.', '/') + ".class");
            if (found != null) {
                String file = found.getPath();
                int end = file.indexOf("!/");
                if (!file.substring(end).startsWith("!/META-INF/versions/")) {
                    origins.put(name, Path.of(java.net.URI.create(file.substring(0, end))).toString());
                }
            }
            return super.findClass(name);
        }
    }

    /** A loader that defines one class file, and other classes of its jar on demand. */
    private static final class JarFirst extends ClassLoader {
        private final JarFile jar;

        JarFirst(ClassLoader parent, JarFile jar) {
            super(parent);
            this.jar = jar;
        }

        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            synchronized (getClassLoadingLock(name)) {
                Class<?> loaded = findLoadedClass(name);
                JarEntry entry = name.startsWith("java.") ? null : jar.getJarEntry(name.replace('.', '/') + ".class");
                if (loaded != null || entry == null) {
                    return loaded != null ? loaded : super.loadClass(name, resolve);
                }
                try (InputStream in = jar.getInputStream(entry)) {
                    byte[] bytes = in.readAllBytes();
                    return defineClass(name, bytes, 0, bytes.length);
                } catch (IOException e) {
                    throw new ClassNotFoundException(name, e);
                }
            }
        }
    }
}
