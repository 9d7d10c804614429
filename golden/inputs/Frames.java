// javac 17 flags: -g:lines
/** Simple methods for which javac writes each form of frame. */
public class Frames {
    static int same(int n) {
        if (n > 0) {
            n++;
        }
        return n;
    }

    static int append(int n) {
        long wide = n;
        String text = "x";
        double third = 0.5;
        if (n > 0) {
            wide++;
        }
        return (int) (wide + text.length() + third);
    }

    static int chop(int n) {
        for (int i = 0; i < n; i++) {
            long wide = i;
            String text = "t";
            while (wide > 0) {
                wide -= text.length();
            }
        }
        return n;
    }

    static Object stack(int n) {
        return new StringBuilder(n > 0 ? "yes" : "no").append(n > 1 ? 1L : 2L).toString();
    }

    static int full(int n, Object o) {
        int[] cells;
        if (n > 0) {
            cells = new int[n];
        } else {
            cells = null;
            o = "s";
        }
        Object copy = o;
        do {
            copy = cells;
        } while (copy == o);
        return cells == null ? 0 : cells.length;
    }

    public static Object run() {
        return same(1) + "," + append(2) + "," + chop(3) + "," + stack(0) + stack(2) + full(3, "o") + full(0, null);
    }
}
