package loadhook;

import java.util.concurrent.atomic.AtomicLong;

/** The threads that call {@code toString} of the program's objects for a trace. Their calls meanwhile are not traced. */
final class Describing {
    private static final int SLOTS = 64;
    /** The ids of these threads, each in the slot of its id; 0 in the other slots. */
    private static final AtomicLong[] THREADS = new AtomicLong[SLOTS];

    static {
        for (int slot = 0; slot < SLOTS; slot++) {
            THREADS[slot] = new AtomicLong();
        }
    }

    private Describing() {
    }

    /** Returns whether the current thread describes values. */
    static boolean isUnderWay() {
        long id = Ids.of(Thread.currentThread());
        return THREADS[(int) id & SLOTS - 1].get() == id;
    }

    /** Describes values. If another thread has the slot, the objects keep the texts that need no code of the program. */
    static void describe(Object values) {
        long id = Ids.of(Thread.currentThread());
        AtomicLong slot = THREADS[(int) id & SLOTS - 1];
        if (id == 0 || !slot.compareAndSet(0, id)) {
            return;
        }
        try {
            TracedValue.describe(values);
        } finally {
            slot.getAndAdd(-id);
        }
    }
}
