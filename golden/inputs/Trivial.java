// javac 17 flags: -g
/** Trivial methods: getters, setters, constants; and methods that look trivial but are not. */
public class Trivial {
    private int value;
    private static long shared;

    int get() {
        return value;
    }

    void set(int value) {
        this.value = value;
    }

    static String constant() {
        return "constant";
    }

    static void nothing() {
    }

    Trivial self() {
        return this;
    }

    static long sum(long a, long b) {
        return a + b + shared;
    }

    int calls() {
        return self().get();
    }

    static int loops(int n) {
        while (n > 9) {
            n >>= 1;
        }
        return n;
    }

    public static Object run() {
        Trivial one = new Trivial();
        one.set(4);
        nothing();
        return one.calls() + constant() + sum(1, 2) + loops(100);
    }
}
