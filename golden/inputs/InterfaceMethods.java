// javac 17 flags: -g
/** Interface methods: default, static, private, private static; a field with an initialiser. */
public interface InterfaceMethods {
    int[] CELLS = {1, 2, 3};

    int base();

    default int doubled() {
        return twice(base()) + within();
    }

    private int within() {
        return CELLS.length;
    }

    private static int twice(int n) {
        return 2 * n;
    }

    static Object run() {
        InterfaceMethods one = () -> 20;
        return one.doubled() + "," + twice(4);
    }
}
