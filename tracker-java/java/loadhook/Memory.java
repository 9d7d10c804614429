package loadhook;

import java.lang.reflect.Field;

/** Reads memory through the JDK's {@code Unsafe}. */
final class Memory {
    /** Null if this class may not use {@code Unsafe}. */
    static final JavaUnsafe UNSAFE = unsafe();

    private Memory() {
    }

    /** Returns the int at an address outside the heap. */
    static int at(long address) {
        return UNSAFE.getInt(null, address);
    }

    private static JavaUnsafe unsafe() {
        try {
            return JavaUnsafe.getUnsafe();
        } catch (SecurityException error) {
            return field();
        } catch (LinkageError error) {
            return null;
        }
    }

    private static JavaUnsafe field() {
        try {
            Field field = JavaUnsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            return (JavaUnsafe) field.get(null);
        } catch (Exception error) {
            return null;
        }
    }
}
