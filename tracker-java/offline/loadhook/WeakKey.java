package loadhook;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;

/**
 * A key for an object, which it does not keep. Of keys that differ by their hashes nobody asks for the object: that would
 * keep it for a collection that is under way.
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

    /** Of two that are gone nobody knows. */
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
