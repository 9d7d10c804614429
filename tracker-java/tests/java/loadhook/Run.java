package loadhook;

import java.io.BufferedWriter;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.util.concurrent.locks.LockSupport;

/**
 * Runs a program's main method under the tracker, then prints a snapshot. It is in the tracker's package, because it
 * uses internal classes.
 */
public final class Run {
    private Run() {
    }

    /**
     * Pauses a thread that waits for the tracker's lock. Usually the agent does this. Without pauses, threads would
     * give up too early.
     */
    private static final class Yield extends Backoff {
        @Override
        void pause(int before) {
            if (before < 100) {
                Thread.yield();
            } else {
                LockSupport.parkNanos(1000000);
            }
        }
    }

    /** Gives the threads that wait for the lock a way to pause. Without it, a loaded machine loses calls. */
    static void letThreadsWait() {
        Lock.backoff = new Yield();
    }

    public static void main(String[] args) throws Exception {
        letThreadsWait();
        Tracker.configure(Integer.parseInt(args[0]), 0, Integer.parseInt(args[1]));
        if (Boolean.getBoolean("durations")) {
            Tracker.countDurations();
        }
        if (Timing.mode == Timing.ADAPTIVE) {
            Thread ticker = new Thread(Run::tick);
            ticker.setDaemon(true);
            ticker.start();
        }
        Class.forName(args[2]).getMethod("main", String[].class).invoke(null, (Object) new String[0]);
        if (!Boolean.getBoolean("dumped")) {
            dump();
        }
        System.exit(0);
    }

    private static void tick() {
        Ticker ticker = new Ticker();
        long seed = System.nanoTime() | 1;
        while (true) {
            seed = Timing.shuffled(seed);
            LockSupport.parkNanos(500000 + (seed >>> 44));
            ticker.run();
        }
    }

    public static void dump() {
        Path path = Threads.find(Thread.currentThread());
        PrintWriter out = new PrintWriter(new BufferedWriter(new OutputStreamWriter(System.out)));
        out.println("depth " + (path == null ? 0 : path.depth));
        Tracker.beginSnapshot();
        long[] buffer = new long[4096];
        for (int words = Tracker.snapshot(buffer); words != 0; words = Tracker.snapshot(buffer)) {
            print(buffer, words, out);
        }
        out.flush();
    }

    private static void print(long[] buffer, int words, PrintWriter out) {
        for (int at = 0; at < words;) {
            int kind = (int) buffer[at];
            int length = kind == 1 ? 11 : kind == 2 ? 4 + (int) (buffer[at + 3] + 7) / 8 : kind == 3 ? 11 : kind == 6 ? 3
                    : kind == 7 ? 3 + (int) buffer[at + 2] : 1;
            out.print("record " + kind);
            for (int word = 1; word < length; word++) {
                out.print(" " + buffer[at + word]);
            }
            out.println();
            at += length;
        }
    }
}
