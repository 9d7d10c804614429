package heap;

/** Keeps some arrays, drops another, prints a line, and waits until its standard input ends. */
public final class Held {
    static Object[] kept;

    /**
     * Bytes in upper case. No constant of the class file contains them, so a search in a dump finds only this array.
     */
    static byte[] marked(String text) {
        return text.toUpperCase().getBytes();
    }

    static int drop() {
        byte[] dropped = marked("a dropped array of bytes");
        return dropped.length;
    }

    public static void main(String[] arguments) throws Exception {
        kept = new Object[Integer.parseInt(arguments[0])];
        for (int i = 0; i < kept.length; i++) {
            kept[i] = new long[4];
        }
        kept[0] = marked("a kept array of bytes");
        drop();
        System.out.println("waiting");
        // Waits until standard input ends, so that the program never outlives its test.
        System.exit(System.in.read() < 0 ? 0 : 1);
    }
}
