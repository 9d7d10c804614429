package loadhook;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;

/**
 * A key that does not keep its object alive. Keys with different hashes are unequal, so their objects need not be
 * read. If a collection is running, reading an object through a weak reference would keep the object alive.
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
