/** The recursive Fibonacci function: nothing but calls. Prints the nanoseconds of a call. */
public final class Fib {
    private Fib() {
    }

    static int fib(int n) {
        return n < 2 ? 1 : fib(n - 1) + fib(n - 2);
    }

    static double round() {
        long start = System.nanoTime();
        int result = fib(25);
        // fib(n) makes 2 * fib(n) - 1 calls, its own included.
        return (System.nanoTime() - start) / (2.0 * result - 1);
    }

    public static void main(String[] args) throws InterruptedException {
        Best.print(Integer.parseInt(args[0]), () -> Fib::round);
    }
}
