package loadhook;

import java.lang.reflect.Field;

/**
 * Stands for {@code sun.misc.Unsafe}, which the compiler will not have in a class for Java 8: build.rs renames the
 * references and leaves this class out. In {@code java.base} the agent makes it {@code jdk.internal.misc.Unsafe}.
 */
abstract class JavaUnsafe {
    /** Not for everybody: of {@code sun.misc}, only for the JDK's own classes. */
    static JavaUnsafe getUnsafe() {
        return null;
    }

    abstract long objectFieldOffset(Field field);

    abstract int getInt(Object base, long offset);

    abstract long getLong(Object base, long offset);
}
