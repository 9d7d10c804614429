// javac 17 flags: --release 8 -g
/** String concatenation by StringBuilder, and private access by access$000, as in Java 8. */
public class ConcatBuilder {
    private static int hidden = 3;

    static class Nested {
        int peek(boolean change) {
            if (change) {
                hidden += 4;
            }
            return hidden;
        }
    }

    static String test(String text, int n) {
        return "<" + text + (n > 1 ? n : "few") + ">";
    }

    public static Object run() {
        hidden = 3;
        return test("a", 1) + test("b", 2) + new Nested().peek(false) + new Nested().peek(true);
    }
}
