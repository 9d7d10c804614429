package loadhook;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The threads that record a traced call. Calls that they make meanwhile, of methods of the JDK and of {@code toString},
 * are not recorded: that would have no end.
 */
final class Describing {
    private static final int SLOTS = 256;
    /** The number of slots that a thread may take. */
    private static final int NEAR = 4;
    /** The ids of these threads, each in a slot near that of its id; 0 in the other slots. */
    private static final AtomicLong[] THREADS = new AtomicLong[SLOTS];

    static {
        for (int slot = 0; slot < SLOTS; slot++) {
            THREADS[slot] = new AtomicLong();
        }
    }

    private Describing() {
    }

    /** Returns whether the current thread records a call. */
    static boolean isUnderWay() {
        long id = Ids.of(Thread.currentThread());
        for (int near = 0; id != 0 && near < NEAR; near++) {
            if (slot(id, near).get() == id) {
                return true;
            }
        }
        return false;
    }

    /** Marks the current thread. Returns its slot for {@link #end}; null if others have all slots near its id. */
    static AtomicLong begin() {
        long id = Ids.of(Thread.currentThread());
        for (int near = 0; id != 0 && near < NEAR; near++) {
            AtomicLong slot = slot(id, near);
            if (slot.compareAndSet(0, id)) {
                return slot;
            }
        }
        return null;
    }

    static void end(AtomicLong slot) {
        slot.getAndAdd(-slot.get());
    }

    private static AtomicLong slot(long id, int near) {
        return THREADS[(int) id + near & SLOTS - 1];
    }
}
