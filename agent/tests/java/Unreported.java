import java.io.BufferedReader;
import java.io.File;
import java.io.InputStream;
import java.io.InputStreamReader;

/** Loads classes in a compiled method that the JVM has not reported. */
public class Unreported {
    static volatile long sink;

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        File begun = new File(System.getProperty("folder"), "begun");
        byte[] bytes;
        try (InputStream stream = Unreported.class.getResourceAsStream("Unreported$Loaded.class")) {
            bytes = stream.readAllBytes();
        }
        // All calls are linked, so that no code has to be compiled again for them.
        unreported(bytes, 1);
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "compile":
                    while (!begun.exists()) {
                        unreported(bytes, 0);
                    }
                    break;
                case "define":
                    unreported(bytes, Integer.parseInt(words[1]));
                    break;
                case "call":
                    call(Integer.parseInt(words[1]));
                    break;
                default:
                    return;
            }
            System.out.println("done");
        }
    }

    static void call(int times) {
        for (int at = 0; at < times; at++) {
            sink += at;
        }
    }

    /** The agent {@code late_reports} lets the report of this method wait. */
    static void unreported(byte[] bytes, int copies) throws Exception {
        for (int at = 0; at < copies; at++) {
            define(bytes);
        }
        sink++;
    }

    static void define(byte[] bytes) throws Exception {
        sink += new Definer().define(bytes).hashCode();
    }

    static class Definer extends ClassLoader {
        Object define(byte[] bytes) throws ReflectiveOperationException {
            return defineClass(null, bytes, 0, bytes.length).getDeclaredConstructor().newInstance();
        }
    }

    public static class Loaded {
    }
}
