/** Runs a recursion of 100,000 calls three times. */
public class Deep {
    public static void main(String[] args) throws Exception {
        Thread thread = new Thread(null, Deep::run, "deep", 1L << 30);
        thread.start();
        thread.join();
    }

    static void run() {
        for (int i = 0; i < 3; i++) {
            down(100000);
            leaf();
        }
    }

    static void down(int n) {
        if (n > 0) {
            other(n - 1);
        }
    }

    static void other(int n) {
        leaf();
        down(n - 1);
    }

    static void leaf() {
    }
}
