import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.instrument.Instrumentation;

/** Redefines classes, as other agents do, and loads classes in the new versions of their methods. */
public class Redefined {
    static volatile long sink;
    static Instrumentation instrumentation;

    public static void premain(String options, Instrumentation given) {
        instrumentation = given;
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        byte[] bytes;
        try (InputStream stream = Redefined.class.getResourceAsStream("Redefined$Loaded.class")) {
            bytes = stream.readAllBytes();
        }
        load(bytes, 1);
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "redefine":
                    redefine(bytes, Integer.parseInt(words[1]));
                    break;
                case "load":
                    load(bytes, Integer.parseInt(words[1]));
                    break;
                case "sleep":
                    Thread.sleep(Integer.parseInt(words[1]));
                    break;
                default:
                    return;
            }
            System.out.println("done");
        }
    }

    /**
     * Redefines the two classes in turn, and loads copies of a class in the one that was redefined last. The JVM frees
     * the old version of one class before it makes the new version of the other, which is of the same size.
     */
    static void redefine(byte[] bytes, int copies) throws Exception {
        instrumentation.retransformClasses(Second.class);
        System.gc();
        instrumentation.retransformClasses(First.class, Last.class);
        First.load(bytes, copies);
        instrumentation.retransformClasses(First.class);
        System.gc();
        instrumentation.retransformClasses(Second.class, Last.class);
        Second.load(bytes, copies);
    }

    static void load(byte[] bytes, int copies) throws Exception {
        First.load(bytes, copies);
        Second.load(bytes, copies);
    }

    static class First {
        static void load(byte[] bytes, int copies) throws Exception {
            for (int at = 0; at < copies; at++) {
                define(bytes);
            }
        }

        static void define(byte[] bytes) throws Exception {
            sink += new Definer().define(bytes).hashCode();
        }
    }

    static class Second {
        static void load(byte[] bytes, int copies) throws Exception {
            for (int at = 0; at < copies; at++) {
                define(bytes);
            }
        }

        static void define(byte[] bytes) throws Exception {
            sink += new Definer().define(bytes).hashCode();
        }
    }

    static class Last {
    }

    static class Definer extends ClassLoader {
        Object define(byte[] bytes) throws ReflectiveOperationException {
            return defineClass(null, bytes, 0, bytes.length).getDeclaredConstructor().newInstance();
        }
    }

    public static class Loaded {
    }
}
