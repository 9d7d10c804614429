import java.nio.file.Files;
import java.nio.file.Paths;

/** Loads classes near the end of the stack, at a different depth each time. */
public final class Deep {
    private static byte[] bytes;
    private static int overflows;

    private Deep() {
    }

    static final class Definer extends ClassLoader {
        Class<?> define() {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    static void load() {
        new Definer().define().getDeclaredConstructors();
    }

    static int down(int depth, int every, long wide) {
        if (depth % every == 0) {
            load();
        }
        return down(depth + 1, every, wide + depth) + 1;
    }

    public static void main(String[] args) throws Exception {
        bytes = Files.readAllBytes(Paths.get(args[0]));
        for (int i = 0; i < Integer.parseInt(args[1]); i++) {
            int every = 1 + i % 7;
            Thread thread = new Thread(null, () -> {
                try {
                    down(0, every, every);
                } catch (StackOverflowError e) {
                    overflows++;
                }
            }, "deep", 256 * 1024);
            thread.start();
            thread.join();
        }
        System.out.println(overflows + " overflows");
    }
}
