package loadhook;

import java.lang.reflect.Field;

/**
 * Stands for {@code sun.misc.Unsafe}, which {@code javac --release 8} does not know. build.rs renames the references and leaves
 * this class out. In {@code java.base} the agent renames them to {@code jdk.internal.misc.Unsafe}.
 */
abstract class JavaUnsafe {
    /**
     * Returns the instance. The method in {@code sun.misc} throws a SecurityException unless the
     * caller is a class of the JDK.
     */
    static JavaUnsafe getUnsafe() {
        return null;
    }

    abstract long objectFieldOffset(Field field);

    abstract int getInt(Object base, long offset);

    abstract long getLong(Object base, long offset);
}
