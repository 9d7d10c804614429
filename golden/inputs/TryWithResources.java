// javac 17 flags: -g
/** try-with-resources: one, two, null, failing to close, with catch and finally. */
public class TryWithResources {
    static StringBuilder log = new StringBuilder();

    record Resource(String name, boolean fails) implements AutoCloseable {
        @Override
        public void close() {
            log.append(name);
            if (fails) {
                throw new IllegalStateException(name);
            }
        }
    }

    static int one(Resource given) {
        try (Resource r = given) {
            return r == null ? 0 : r.name.length();
        }
    }

    static int two(boolean first, boolean second, int divisor) {
        try (Resource a = new Resource("a", first); Resource b = new Resource("b", second)) {
            return 8 / divisor;
        } catch (ArithmeticException e) {
            return -e.getSuppressed().length;
        } finally {
            log.append('f');
        }
    }

    public static Object run() {
        log.setLength(0);
        String text = one(null) + "," + one(new Resource("xy", false)) + "," + two(false, false, 2)
            + "," + two(true, true, 0);
        try {
            two(true, false, 4);
        } catch (IllegalStateException e) {
            text += e.getMessage();
        }
        return text + log;
    }
}
