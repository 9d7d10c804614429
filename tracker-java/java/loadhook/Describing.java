package loadhook;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The threads that are recording a traced call. While a thread does so, it calls methods of the JDK and {@code
 * toString}. These calls are not recorded: recording them would call the same methods again, without end.
 */
final class Describing {
    private static final int SLOTS = 256;
    /** The number of slots among which a thread takes one. */
    private static final int NEAR = 4;
    /** The ids of the threads that are recording. An id is in one of the slots near its own; other slots are 0. */
    private static final AtomicLong[] THREADS = new AtomicLong[SLOTS];

    static {
        for (int slot = 0; slot < SLOTS; slot++) {
            THREADS[slot] = new AtomicLong();
        }
    }

    private Describing() {
    }

    /** Returns whether the current thread is recording a call. */
    static boolean isUnderWay() {
        long id = Ids.of(Thread.currentThread());
        for (int near = 0; id != 0 && near < NEAR; near++) {
            if (slot(id, near).get() == id) {
                return true;
            }
        }
        return false;
    }

    /**
     * Marks the current thread. Returns its slot for {@link #end}, or null if other threads have all slots near
     * its id.
     */
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
