/** Constructs that JDK 25 adds: code before super, enum constants in patterns, record patterns. */
public class Newest extends Exception {
    sealed interface S permits A, B {}
    record A(int x, S next) implements S {}
    enum B implements S { ONE, TWO }
    final int size;
    Newest(String text) {
        if (text == null) { throw new NullPointerException("text"); }
        int n = text.length();
        size = n;
        super("n" + n);
    }
    static int kind(S s) {
        return switch (s) {
            case A(int x, A(int y, _)) when x > y -> x;
            case A(int x, var next) -> kind(next) + x;
            case B.ONE -> 1;
            case B.TWO -> 2;
        };
    }
    public static Object run() {
        try { return kind(new A(1, new A(0, B.ONE))) + new Newest("abc").size + kind(new A(3, B.TWO)) + new Newest(null).size; }
        catch (NullPointerException e) { return e.getMessage(); }
    }
}
