package lib;

/** A class that another module uses. */
public final class Library {
    static int calls;

    public static void call() {
        calls++;
    }
}
