// javac 17 flags: -g
/** String concatenation by invokedynamic. */
public class ConcatIndy {
    static String test(String text, int n, long wide, char c, Object o) {
        text += n;
        return "<" + text + wide + "\1" + c + "|" + o + ">";
    }

    public static Object run() {
        return test("a", 1, 2L, 'c', null);
    }
}
