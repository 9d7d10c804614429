package loadhook;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;

/**
 * A key that does not keep its object alive. Keys with different hashes are unequal without a look
 * at their objects. Reading an object through a weak reference would keep it alive if a collection
 * is running.
 */
class WeakKey<T> extends WeakReference<T> {
    private final int hash;

    WeakKey(T object, ReferenceQueue<? super T> gone) {
        super(object, gone);
        hash = System.identityHashCode(object);
    }

    @Override
    public final int hashCode() {
        return hash;
    }

    /** Keys are equal if they are the same, or if their objects are alive and the same. */
    @Override
    public final boolean equals(Object other) {
        if (this == other || !(other instanceof WeakKey)) {
            return this == other;
        }
        WeakKey<?> another = (WeakKey<?>) other;
        T object = hash == another.hash ? get() : null;
        return object != null && object == another.get();
    }
}
