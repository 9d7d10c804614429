// javac 17 flags: -g
/** Loops whose head is pc 0: a jump back must not be counted as a call. */
public class LoopAtZero {
    static int left;

    static int forever() {
        while (true) {
            if (--left < 0) {
                return left;
            }
        }
    }

    static int doWhile(int n) {
        do {
            n -= 2;
        } while (n > 0);
        return n;
    }

    static void whileArgument(int[] cells) {
        while (cells[0] > 0) {
            cells[0]--;
        }
    }

    static int loopInTry(String[] texts) {
        for (;;) {
            try {
                return Integer.parseInt(texts[left++]);
            } catch (NumberFormatException e) {
                continue;
            }
        }
    }

    public static Object run() {
        left = 4;
        int first = forever();
        int[] cells = {5};
        whileArgument(cells);
        left = 0;
        return first + "," + doWhile(5) + "," + cells[0] + "," + loopInTry(new String[] {"x", "y", "8"});
    }
}
