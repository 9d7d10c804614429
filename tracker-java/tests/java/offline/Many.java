/** Twelve methods. PlainFull makes them call each other in every order. */
public class Many {
    static void m0(int above, int depth) {
        PlainFull.below(above | 1 << 0, depth);
    }

    static void m1(int above, int depth) {
        PlainFull.below(above | 1 << 1, depth);
    }

    static void m2(int above, int depth) {
        PlainFull.below(above | 1 << 2, depth);
    }

    static void m3(int above, int depth) {
        PlainFull.below(above | 1 << 3, depth);
    }

    static void m4(int above, int depth) {
        PlainFull.below(above | 1 << 4, depth);
    }

    static void m5(int above, int depth) {
        PlainFull.below(above | 1 << 5, depth);
    }

    static void m6(int above, int depth) {
        PlainFull.below(above | 1 << 6, depth);
    }

    static void m7(int above, int depth) {
        PlainFull.below(above | 1 << 7, depth);
    }

    static void m8(int above, int depth) {
        PlainFull.below(above | 1 << 8, depth);
    }

    static void m9(int above, int depth) {
        PlainFull.below(above | 1 << 9, depth);
    }

    static void m10(int above, int depth) {
        PlainFull.below(above | 1 << 10, depth);
    }

    static void m11(int above, int depth) {
        PlainFull.below(above | 1 << 11, depth);
    }
}
