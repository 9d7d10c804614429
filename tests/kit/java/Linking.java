/** Defines classes and makes HotSpot link them: verification included, initialisation not. */
final class Linking {
    private Linking() {}

    /** A loader for one class, so that any number of versions of it can be defined. */
    static final class OneClass extends ClassLoader {
        OneClass(ClassLoader parent) {
            super(parent);
        }

        /** The name is the one in the bytes. */
        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    /**
     * Links a class: throws what linking throws, {@code VerifyError} mostly.
     *
     * {@code ClassLoader.resolveClass} links nothing and {@code Lookup.ensureInitialized} runs code. HotSpot
     * links before it lists members (JVM_GetClassDeclaredConstructors, …Fields). Constructors come first, as
     * their few parameter types are then looked up too: where that fails with NoClassDefFoundError the
     * linking may still have gone well, and the fields' list tells.
     */
    static void link(Class<?> type) {
        try {
            type.getDeclaredConstructors();
        } catch (NoClassDefFoundError | TypeNotPresentException missing) {
            try {
                type.getDeclaredFields();
            } catch (NoClassDefFoundError | TypeNotPresentException alsoMissing) {
                type.getDeclaredMethods();
            }
        }
    }

    /** An error's class and message, of the message no more than {@code lines} lines. */
    static String describe(Throwable error, int lines) {
        String message = error.getMessage();
        if (message == null) {
            return error.getClass().getName();
        }
        int end = -1;
        for (int i = 0; i < lines; i++) {
            int next = message.indexOf('\n', end + 1);
            if (next < 0) {
                end = message.length();
                break;
            }
            end = next;
        }
        return error.getClass().getName() + ": " + message.substring(0, end);
    }
}
