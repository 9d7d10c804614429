package lib;

/** Used by another module. */
public final class Library {
    static int calls;

    public static void call() {
        calls++;
    }
}
