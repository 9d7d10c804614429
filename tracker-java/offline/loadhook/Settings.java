package loadhook;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Properties;

/**
 * The user's settings. Sources are {@code loadhook.properties} in the archive, then the environment, then {@code
 * -Dloadhook.…}; a later source replaces an earlier one. A wrong setting is reported, and the program runs as if
 * it were absent.
 */
final class Settings {
    private static final String[] WORDS = {"file", "timing", "clock", "max-nodes", "dump-on-exit", "append"};
    private static final String FILE = "loadhook.properties";
    private static final char BYTE_ORDER_MARK = 0xfeff;
    private static final int MOST_NODES = 100000000;

    private final String[] values = new String[WORDS.length];
    /** The settings as the user wrote them, for messages. */
    private final String[] written = new String[WORDS.length];

    final String file;
    final int timing;
    final int clock;
    final int maxNodes;
    final boolean dumpOnExit;
    final boolean append;

    private Settings(Class<?> part) {
        try {
            resource(part);
            environment();
            properties();
        } catch (Exception error) {
            Diagnostics.failure("not all settings could be read", error);
        }
        String file = values[0];
        this.file = file == null || file.isEmpty() ? "loadhook-%p.pb.gz" : file;
        timing = choice(1, "adaptive, exact or count", "adaptive", "exact", "count");
        clock = choice(2, "wall or cpu", "wall", "cpu");
        maxNodes = nodes(3);
        dumpOnExit = choice(4, "true or false", "true", "false") == 0;
        append = choice(5, "true or false", "false", "true") == 1;
    }

    static Settings read(Class<?> part) {
        return new Settings(part);
    }

    private void resource(Class<?> part) {
        Properties read = new Properties();
        try (InputStream in = open(part)) {
            if (in != null) {
                BufferedReader text = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
                text.mark(1);
                if (text.read() != BYTE_ORDER_MARK) {
                    text.reset();
                }
                read.load(text);
            }
        } catch (IOException error) {
            Diagnostics.failure(FILE, error);
        } catch (IllegalArgumentException error) {
            Diagnostics.failure(FILE, error);
        }
        for (String key : read.stringPropertyNames()) {
            int word = find(key);
            if (word < 0) {
                Diagnostics.line(FILE + ": unknown setting " + key);
            } else {
                set(word, read.getProperty(key), FILE + ": " + key);
            }
        }
    }

    /**
     * Opens the resource through the class loader. A class in a named module would search only its module, but
     * the loader searches the class path, too.
     */
    private static InputStream open(Class<?> part) {
        InputStream own = part.getResourceAsStream("/" + FILE);
        ClassLoader loader = part.getClassLoader();
        return own != null || loader == null ? own : loader.getResourceAsStream(FILE);
    }

    /**
     * Reads the environment. Unknown variables are no errors, because other programs may use variables whose
     * names begin alike.
     */
    private void environment() {
        for (int word = 0; word < WORDS.length; word++) {
            String name = "LOADHOOK_" + WORDS[word].toUpperCase(Locale.ROOT).replace('-', '_');
            String value = System.getenv(name);
            // A shell can set a variable to nothing for one command, but not remove it.
            if (value != null && !value.isEmpty()) {
                set(word, value, name);
            }
        }
    }

    private void properties() {
        for (int word = 0; word < WORDS.length; word++) {
            String name = "loadhook." + WORDS[word];
            String value = System.getProperty(name);
            if (value != null) {
                set(word, value, "-D" + name);
            }
        }
    }

    private static int find(String key) {
        int word = WORDS.length - 1;
        while (word >= 0 && !WORDS[word].equals(key)) {
            word--;
        }
        return word;
    }

    private void set(int word, String value, String source) {
        values[word] = value.trim();
        written[word] = source + "=" + value;
    }

    /**
     * Returns the index of the setting's value among the allowed words, the first of which is the default.
     */
    private int choice(int word, String expected, String... words) {
        String value = values[word];
        for (int at = 0; at < words.length; at++) {
            if (words[at].equals(value)) {
                return at;
            }
        }
        if (value != null) {
            told(word, expected, words[0]);
        }
        return 0;
    }

    private int nodes(int word) {
        if (values[word] == null) {
            return 1000000;
        }
        try {
            int nodes = Integer.parseInt(values[word]);
            if (nodes >= 1 && nodes <= MOST_NODES) {
                return nodes;
            }
        } catch (NumberFormatException error) {
            // The text is not a number, so the message below is written.
        }
        told(word, "a number from 1 to " + MOST_NODES, "1000000");
        return 1000000;
    }

    private void told(int word, String expected, String instead) {
        Diagnostics.line(written[word] + ": " + expected + " expected; " + instead + " is used");
    }
}
