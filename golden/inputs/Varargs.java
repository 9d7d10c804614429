// javac 17 flags: -g
/** Varargs of objects, of int, of nothing. */
public class Varargs {
    static int count(Object... all) {
        return all.length;
    }

    static long sum(long start, int... all) {
        for (int one : all) {
            start += one;
        }
        return start;
    }

    public static Object run() {
        return count() + "," + count(1, "two", null) + "," + sum(1L) + "," + sum(1L, 2, 3);
    }
}
