package loadhook;

import java.util.concurrent.atomic.AtomicLong;

/** Traced calls between the threads that end them and the one that takes them. If it is full, further calls are lost. */
final class TraceRing {
    private final TracedCall[] slots;
    /** The number of calls that were added, and those being added. */
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

    /** The oldest call; null if there is none, or its thread has not put it into its slot yet. */
    TracedCall take() {
        int slot = (int) taken & slots.length - 1;
        TracedCall call = slots[slot];
        if (call != null) {
            slots[slot] = null;
            taken++;
        } else if (!hasRoom()) {
            // Thread.stop ended the thread before it filled its slot. Otherwise the ring would not be full.
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

    /** The number of calls that were lost since the last time. */
    long takeLost() {
        long lost = this.lost.get();
        this.lost.getAndAdd(-lost);
        return lost;
    }
}
