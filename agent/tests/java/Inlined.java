/** Calls a method so often that the JIT compiler compiles it, with the methods that it calls. */
public final class Inlined {
    static volatile long sum;

    static long innermost(long at) {
        return at * 31 + 7;
    }

    static long inner(long at) {
        return innermost(at) ^ innermost(at + 1);
    }

    static long hot(long at) {
        return inner(at) + 1;
    }

    public static void main(String[] args) {
        long own = 0;
        for (int at = 0; at < 2_000_000; at++) {
            own += hot(at);
        }
        sum = own;
        System.out.println("done");
    }
}
