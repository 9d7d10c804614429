/** A class that is defined as a hidden class, and without a name. */
public final class Hideable {
    static int calls;

    static int up() {
        return ++calls;
    }

    public static int get() {
        return up() + up();
    }
}
