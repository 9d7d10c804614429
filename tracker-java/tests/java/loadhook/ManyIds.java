package loadhook;

import java.util.ArrayList;
import java.util.List;

/**
 * Counts calls of methods with very many ids, in several threads. With the argument {@code full}, the heap is full at
 * first, with {@code few}, the tracker expects few methods.
 */
public final class ManyIds {
    private static final int THREADS = 8;
    private static final int ROUNDS = 3;
    private static final int[] IDS = {0, 1, 511, 512, 1023, 1024, 2047, 2048, 40000, 65534, 65535, 65536, 66000, 300000, 1 << 20};

    private ManyIds() {
    }

    public static void main(String[] args) throws Exception {
        Run.letThreadsWait();
        boolean isFull = args.length != 0 && args[0].equals("full");
        if (args.length != 0 && !isFull) {
            Tracker.expectFewMethods();
        }
        Tracker.configure(Timing.SAMPLED, 0, 1000);
        List<Object> filling = new ArrayList<>();
        int last = IDS.length;
        if (isFull) {
            // A full heap has room for few ids, so the threads call only few.
            last = 4;
            fill(filling);
        }
        // Some threads end, some are alive at the snapshot, and some take over the arrays of ended ones.
        for (int round = 0; round < ROUNDS; round++) {
            Thread[] threads = new Thread[THREADS];
            for (int i = 0; i < THREADS; i++) {
                int number = i;
                int end = last;
                threads[i] = new Thread(() -> count(number, end));
                threads[i].start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
        }
        filling = null;
        System.gc();
        count(0, IDS.length);
        Run.dump();
        for (int at = 0; at < IDS.length; at++) {
            long ended = at < last ? (long) ROUNDS * (THREADS * 1000 + THREADS * (THREADS - 1) / 2) : 0;
            System.out.println("expect " + IDS[at] + " " + (ended + 1000));
        }
    }

    private static void count(int number, int end) {
        for (int call = 0; call < 1000 + number; call++) {
            for (int at = 0; at < end; at++) {
                Tracker.count(IDS[at]);
            }
        }
    }

    private static void fill(List<Object> filling) {
        for (int bytes = 1 << 20; bytes > 64; bytes >>= 1) {
            try {
                while (true) {
                    filling.add(new byte[bytes]);
                }
            } catch (OutOfMemoryError error) {
                // The heap is full for objects of this size. Smaller ones may still fit.
            }
        }
        // Threads need some objects, so a little of the heap is freed.
        for (int freed = 0; freed < 2000 && !filling.isEmpty(); freed++) {
            filling.remove(filling.size() - 1);
        }
    }
}
