package fat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.net.URLConnection;
import java.net.URLStreamHandler;
import java.util.HashMap;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;

/**
 * Starts a program whose classes and libraries are in one archive, as the launchers of application
 * servers do.
 */
public final class Launcher extends ClassLoader {
    private final Map<String, byte[]> files = new HashMap<>();

    private Launcher() throws IOException {
        super(Launcher.class.getClassLoader());
        try (ZipInputStream jar = new ZipInputStream(jar())) {
            for (ZipEntry entry; (entry = jar.getNextEntry()) != null;) {
                String name = entry.getName();
                if (name.startsWith("BOOT-INF/classes/")) {
                    files.put(name.substring(17), all(jar));
                } else if (name.startsWith("BOOT-INF/lib/") && name.endsWith(".jar")) {
                    // A launcher maps the library inside the archive, so the library must be
                    // stored, not compressed.
                    if (entry.getMethod() != ZipEntry.STORED) {
                        throw new IOException(name + " is packed");
                    }
                    library(jar);
                }
            }
        }
    }

    private static InputStream jar() throws IOException {
        return new java.io.FileInputStream(System.getProperty("java.class.path"));
    }

    private void library(InputStream in) throws IOException {
        ZipInputStream jar = new ZipInputStream(in);
        for (ZipEntry entry; (entry = jar.getNextEntry()) != null;) {
            files.putIfAbsent(entry.getName(), all(jar));
        }
    }

    private static byte[] all(InputStream in) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        byte[] buffer = new byte[8192];
        for (int n; (n = in.read(buffer)) > 0;) {
            out.write(buffer, 0, n);
        }
        return out.toByteArray();
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
        byte[] bytes = files.get(name.replace('.', '/') + ".class");
        if (bytes == null) {
            throw new ClassNotFoundException(name);
        }
        return defineClass(name, bytes, 0, bytes.length);
    }

    @Override
    protected URL findResource(String name) {
        byte[] bytes = files.get(name);
        if (bytes == null) {
            return null;
        }
        try {
            return new URL("fat", null, 0, name, new URLStreamHandler() {
                @Override
                protected URLConnection openConnection(URL url) {
                    return new URLConnection(url) {
                        @Override
                        public void connect() {
                        }

                        @Override
                        public InputStream getInputStream() {
                            return new java.io.ByteArrayInputStream(bytes);
                        }
                    };
                }
            });
        } catch (IOException e) {
            return null;
        }
    }

    public static void main(String[] arguments) throws Exception {
        Class<?> main = new Launcher().loadClass("app.Main");
        main.getMethod("main", String[].class).invoke(null, (Object) arguments);
    }
}
