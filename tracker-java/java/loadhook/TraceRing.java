package loadhook;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Passes traced calls from the threads that end them to the thread that takes them. While the ring is full, calls
 * are lost.
 */
final class TraceRing {
    private final TracedCall[] slots;
    /** The number of calls that were added or are being added. */
    private final AtomicLong next = new AtomicLong();
    private final AtomicLong lost = new AtomicLong();
    /** The number of calls that were taken. */
    private volatile long taken;

    TraceRing(int slots) {
        this.slots = new TracedCall[slots];
    }

    boolean hasRoom() {
        return next.get() - taken < slots.length;
    }

    void lose(long calls) {
        lost.getAndAdd(calls);
    }

    void add(TracedCall call) {
        TracedCall[] slots = this.slots;
        long at;
        do {
            at = next.get();
            if (at - taken >= slots.length) {
                lose(1);
                return;
            }
        } while (!next.compareAndSet(at, at + 1));
        // No call may stand here: a StackOverflowError would leave the slot empty, and the taker waits for it.
        slots[(int) at & slots.length - 1] = call;
    }

    /** Takes the oldest call. Returns null if there is none, or if its thread has not put it into its slot yet. */
    TracedCall take() {
        int slot = (int) taken & slots.length - 1;
        TracedCall call = slots[slot];
        if (call != null) {
            slots[slot] = null;
            taken++;
        } else if (!hasRoom()) {
            // Thread.stop ended the adding thread before it filled its slot. Otherwise the ring would not be
            // full.
            lose(1);
            taken++;
        }
        return call;
    }

    long taken() {
        return taken;
    }

    long count() {
        return next.get();
    }

    /** Returns the number of calls that were lost since the previous call of this method. */
    long takeLost() {
        long lost = this.lost.get();
        this.lost.getAndAdd(-lost);
        return lost;
    }
}
