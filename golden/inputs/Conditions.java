// javac 17 flags: -g
/** Conditions: every comparison of int, reference, long, float and null, with && and ||. */
public class Conditions {
    static int ints(int a, int b) {
        return (a == b ? 1 : 0) | (a != b ? 2 : 0) | (a < b ? 4 : 0) | (a >= b ? 8 : 0)
            | (a > b ? 16 : 0) | (a <= b ? 32 : 0) | (a == 0 ? 64 : 0) | (b < 0 ? 128 : 0);
    }

    static boolean mixed(Object a, Object b, long c, double d) {
        return a == b && c > 3 || a != null && (b == null || d < 1.5) && !(c == 0 || d >= 9);
    }

    public static Object run() {
        return ints(0, 0) + "," + ints(1, -1) + "," + ints(-1, 1) + "," + mixed("a", "a", 4, 0)
            + mixed("a", null, 1, 2) + mixed(null, "b", 1, 1) + mixed("a", "b", 1, 9);
    }
}
