/** Defines classes and makes HotSpot verify and link them, without initialising them. */
final class Linking {
    private Linking() {}

    /** A loader for a single class, so that many versions of the class can be defined. */
    static final class OneClass extends ClassLoader {
        OneClass(ClassLoader parent) {
            super(parent);
        }

        /** Defines a class under the name in its bytes. */
        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    /**
     * Links a class; throws the error of linking, usually {@code VerifyError}.
     *
     * {@code ClassLoader.resolveClass} links nothing and {@code Lookup.ensureInitialized} runs
     * code. HotSpot links before it lists members (JVM_GetClassDeclaredConstructors, …Fields). So
     * this method lists the constructors. Listing them also looks up their parameter types. If that
     * fails with NoClassDefFoundError, linking may still have succeeded. The list of fields then
     * shows whether it has.
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

    /** Returns an error's class, and at most {@code lines} lines of its message. */
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
