// javac 17 flags: -g
/** Arrays of one, two, three and four dimensions, whole and partial, by size and by list. */
public class Arrays {
    static int one(int n) {
        return new int[n].length + new String[n].length + new boolean[n].length;
    }

    static int two(int n) {
        return new int[n][2].length + new int[n][].length + new Object[1][n][].length;
    }

    static int three(int n) {
        return new long[n][3][4][n - 1].length;
    }

    static int four(int n) {
        return new String[1][2][n][4][0][1].length;
    }

    static int list() {
        int[][] cells = {{1, 2}, {3}, {}};
        String[] texts = {"a", null};
        return cells[0][1] + cells.length + texts.length;
    }

    public static Object run() {
        String text = one(2) + "," + two(2) + "," + three(2) + "," + four(3) + "," + list();
        try {
            return text + one(-1);
        } catch (NegativeArraySizeException e) {
            return text + e.getMessage();
        }
    }
}
