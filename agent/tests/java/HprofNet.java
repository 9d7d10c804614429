import java.io.File;
import java.io.IOException;

/**
 * Works and makes objects when there is a file {@code go-1}, again when there is a file {@code go-2}, and so on, until
 * there is a file {@code end}. Tells by files {@code done-1}, {@code done-2} what is done.
 */
public final class HprofNet {
    static final class Made {}

    static volatile Object last;
    static volatile long sum;

    static void makes() {
        for (int at = 0; at < 1000; at++) {
            last = new Made();
        }
        last = null;
    }

    static long works() {
        long own = 0;
        for (int at = 0; at < 200_000_000; at++) {
            own = own * 31 + at;
        }
        return own;
    }

    // A method of its own for each round.
    static void first() {
        sum += works();
    }

    static void second() {
        sum += works();
    }

    static void third() {
        sum += works();
    }

    /** Waits for one of two files. Returns whether the first one is there. */
    static boolean isThere(String first, String second) throws InterruptedException {
        while (true) {
            if (new File(first).exists()) {
                return true;
            }
            if (new File(second).exists()) {
                return false;
            }
            Thread.sleep(5);
        }
    }

    public static void main(String[] args) throws InterruptedException, IOException {
        Runnable[] rounds = {HprofNet::first, HprofNet::second, HprofNet::third};
        for (int round = 1; isThere("go-" + round, "end"); round++) {
            makes();
            rounds[(round - 1) % rounds.length].run();
            new File("done-" + round).createNewFile();
        }
        System.out.println("done");
    }
}
