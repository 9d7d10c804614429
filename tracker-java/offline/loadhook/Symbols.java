package loadhook;

import java.io.BufferedReader;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URL;
import java.net.URLConnection;
import java.nio.charset.StandardCharsets;
import java.security.CodeSource;

/** What an archive calls its methods: a resource beside its part, which is read when a profile is written. */
final class Symbols {
    private static final String FIRST_LINE = "loadhook symbols 1";

    final Class<?> part;
    private final String archive;
    final int base;
    private final int ids;

    Symbols(Class<?> part, String archive, int base, int ids) {
        this.part = part;
        this.archive = archive;
        this.base = base;
        this.ids = ids;
    }

    ClassLoader loader() {
        return part.getClassLoader();
    }

    /** Names the archive's methods that were called. Without names a profile still has its numbers. */
    void read(Methods methods, String loader, Header header) {
        try (BufferedReader in = new BufferedReader(new InputStreamReader(open(), StandardCharsets.UTF_8))) {
            if (!FIRST_LINE.equals(in.readLine())) {
                throw new IOException("not of this version");
            }
            String className = "";
            String file = "";
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] fields = line.split("\t", -1);
                if (line.startsWith("M\t")) {
                    int id = Integer.parseInt(fields[1]);
                    if (id < ids && methods.has(base + id)) {
                        methods.name(base + id, new Method(loader, className, plain(fields[2]), plain(fields[3]),
                                file.isEmpty() ? null : file, fields[4].isEmpty() ? -1 : Integer.parseInt(fields[4])));
                    }
                } else if (line.startsWith("C\t")) {
                    className = plain(fields[1]);
                    file = plain(fields[2]);
                } else if (line.startsWith("S\t")) {
                    header.leftAlone(plain(fields[1]), Long.parseLong(fields[2]));
                }
            }
        } catch (IOException error) {
            header.notes.add("the names of archive " + archive + " could not be read: " + error.getMessage());
        } catch (RuntimeException error) {
            header.notes.add("the names of archive " + archive + " are damaged: " + error);
        }
    }

    private InputStream open() throws IOException {
        String name = "META-INF/loadhook/" + archive + ".symbols";
        InputStream in = part.getResourceAsStream("/" + name);
        if (in != null) {
            return in;
        }
        // A loader that was closed finds nothing any more; the file may still be there.
        CodeSource source = part.getProtectionDomain().getCodeSource();
        if (source == null || source.getLocation() == null) {
            throw new FileNotFoundException(name);
        }
        String place = source.getLocation().toString();
        URLConnection file = new URL(place.endsWith("/") ? place + name : "jar:" + place + "!/" + name).openConnection();
        file.setUseCaches(false);
        return file.getInputStream();
    }

    /** A field without its escapes. */
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
