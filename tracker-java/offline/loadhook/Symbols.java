package loadhook;

import java.io.BufferedReader;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLConnection;
import java.nio.charset.StandardCharsets;
import java.security.CodeSource;

/**
 * The names of an archive's methods. The names are in a resource beside the archive's part. The resource is read when
 * a profile is written. This class keeps neither the part nor its loader alive, so both may be collected by then.
 */
final class Symbols {
    private static final String FIRST_LINE = "loadhook symbols 1";

    private final LoaderName loader;
    private final String archive;
    final int base;
    private final int ids;
    /**
     * The pattern of the loader's name. Null if these symbols are for loaders of several names, or if a collected
     * loader was already counted for the pattern.
     */
    private String pattern;
    /** The part of the archive's last copy. */
    private volatile WeakReference<Class<?>> part;
    /** The number of copies so far, and the number of live copies. */
    private volatile int loaders;
    private int alive;
    /** URL of the archive; null if unknown. */
    private volatile String place;

    Symbols(LoaderName loader, String archive, int base, int ids, String pattern) {
        this.loader = loader;
        this.archive = archive;
        this.base = base;
        this.ids = ids;
        this.pattern = pattern;
    }

    /**
     * Adds a copy whose part is {@code part}. Returns whether this is the first copy. The caller holds the lock
     * of {@link Archives}.
     */
    boolean add(WeakReference<Class<?>> part) {
        this.part = part;
        alive++;
        return ++loaders == 1;
    }

    /**
     * Removes a copy. Returns the pattern if this was the last copy and the pattern has not been
     * counted yet, otherwise null. The caller holds the lock of {@link Archives}.
     */
    String forget() {
        String of = --alive == 0 ? pattern : null;
        pattern = alive == 0 ? null : pattern;
        return of;
    }

    /**
     * Finds the URL of the archive and stores it, for use after all parts have been collected.
     */
    void locate(Class<?> part) {
        try {
            CodeSource source = part.getProtectionDomain().getCodeSource();
            URL url = source == null ? null : source.getLocation();
            place = url == null ? null : url.toString();
        } catch (RuntimeException error) {
            // A security manager forbids reading the URL. The names can then be read only while a part is alive.
        }
    }

    /** Names the archive's methods that were called. A profile without names still has its numbers. */
    void read(Methods methods, Header header) {
        Class<?> part = this.part.get();
        if (part != null) {
            // The thread that registers the part may not have stored the URL yet.
            locate(part);
        }
        String loader = this.loader.name();
        int loaders = this.loaders;
        try (BufferedReader in = new BufferedReader(new InputStreamReader(open(part), StandardCharsets.UTF_8))) {
            read(in, loader, loaders, methods, header);
        } catch (IOException error) {
            header.note("the names of archive " + archive + " could not be read: " + error.getMessage());
        } catch (RuntimeException error) {
            header.note("the names of archive " + archive + " are damaged: " + error);
        }
    }

    /** Reads the lines of the resource; {@code docs/user/offline.md} lists them. */
    void read(BufferedReader in, String loader, int loaders, Methods methods, Header header) throws IOException {
        if (!FIRST_LINE.equals(in.readLine())) {
            throw new IOException("they are of another version of Loadhook; rewrite the archive again");
        }
        String className = "";
        String file = "";
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] fields = line.split("\t", -1);
            if (line.startsWith("M\t")) {
                int id = Integer.parseInt(fields[1]);
                if (id < ids && methods.has(base + id)) {
                    methods.name(base + id, new Method(loader, className, plain(fields[2]), plain(fields[3]),
                            file.isEmpty() ? null : file, fields[4].isEmpty() ? -1 : Integer.parseInt(fields[4]), loaders));
                }
            } else if (line.startsWith("C\t")) {
                className = plain(fields[1]);
                file = plain(fields[2]);
            } else if (line.startsWith("S\t")) {
                header.leftAlone(plain(fields[1]), Long.parseLong(fields[2]));
            }
        }
    }

    private InputStream open(Class<?> part) throws IOException {
        String name = "META-INF/loadhook/" + archive + ".symbols";
        InputStream in = part == null ? null : part.getResourceAsStream("/" + name);
        if (in != null) {
            return in;
        }
        // A loader that was collected or closed finds no resources, but the
        // archive's file may still exist.
        String place = this.place;
        if (place == null) {
            throw new FileNotFoundException(name);
        }
        URLConnection file = new URL(place.endsWith("/") ? place + name : "jar:" + place + "!/" + name).openConnection();
        file.setUseCaches(false);
        return file.getInputStream();
    }

    /** Returns a field in which escapes are replaced by the characters for which they stand. */
    private static String plain(String field) {
        if (field.indexOf('\\') < 0) {
            return field;
        }
        StringBuilder text = new StringBuilder();
        for (int at = 0; at < field.length(); at++) {
            char c = field.charAt(at);
            if (c == '\\' && at + 1 < field.length()) {
                c = field.charAt(++at);
                c = c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c;
            }
            text.append(c);
        }
        return text.toString();
    }
}
