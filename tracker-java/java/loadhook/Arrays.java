package loadhook;

/**
 * Copies and clears arrays. This code is not in the methods that make arrays grow, so that those
 * methods stay small.
 */
final class Arrays {
    private Arrays() {
    }

    static int[] longer(int[] array) {
        int[] longer = new int[array.length * 2];
        System.arraycopy(array, 0, longer, 0, array.length);
        return longer;
    }

    static long[] longer(long[] array) {
        long[] longer = new long[array.length * 2];
        System.arraycopy(array, 0, longer, 0, array.length);
        return longer;
    }

    static byte[] longer(byte[] array) {
        byte[] longer = new byte[array.length * 2];
        System.arraycopy(array, 0, longer, 0, array.length);
        return longer;
    }

    static long[] copy(long[] array, int length) {
        long[] copy = new long[length];
        System.arraycopy(array, 0, copy, 0, array.length);
        return copy;
    }

    static void clear(int[] array, int end) {
        for (int at = 0; at < end; at++) {
            array[at] = 0;
        }
    }

    static void clear(long[] array, int end) {
        for (int at = 0; at < end; at++) {
            array[at] = 0;
        }
    }
}
