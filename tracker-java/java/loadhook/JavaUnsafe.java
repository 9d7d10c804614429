package loadhook;

import java.lang.reflect.Field;

/**
 * Stands for {@code sun.misc.Unsafe}, which the compiler will not have in a class for Java 8: build.rs renames the
 * references and leaves this class out. In {@code java.base} the agent makes it {@code jdk.internal.misc.Unsafe}.
 */
abstract class JavaUnsafe {
    abstract long objectFieldOffset(Field field);

    abstract long getLong(Object object, long offset);
}
