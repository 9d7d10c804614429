/** Arrays of one and more dimensions, also of negative length. */
public class Arrays2 {
    public static Object run() {
        StringBuilder out = new StringBuilder();
        out.append(primitives(4)).append(' ').append(grid(3, 4)).append(' ').append(ragged(4)).append(' ');
        for (int i = -1; i < 2; i++) {
            try {
                out.append(cube(2, i, 3)).append(' ');
            } catch (NegativeArraySizeException e) {
                out.append("NASE ").append(e.getMessage()).append(' ');
            }
        }
        try {
            store(new String[] {"a", "b"}, 5);
        } catch (ArrayStoreException e) {
            out.append(e.getMessage());
        }
        return out.toString();
    }

    static int primitives(int n) {
        byte[] bytes = new byte[n];
        char[] chars = new char[n + 1];
        short[] shorts = new short[n];
        boolean[] flags = new boolean[n];
        float[] floats = {1, 2.5f, 3};
        double[] doubles = new double[] {floats[1], 4};
        for (int i = 0; i < n; i++) {
            bytes[i] = (byte) (i * 100);
            chars[i + 1] = (char) ('a' + i);
            shorts[i] = (short) (bytes[i] * chars[i]);
            flags[i] = shorts[i] > 0;
        }
        int total = flags[1] ? 1 : 0;
        for (short s : shorts) {
            total += s;
        }
        return total + (int) (floats[2] * doubles[0]);
    }

    static int grid(int a, int b) {
        int[][] grid = new int[a][b];
        for (int i = 0; i < a; i++) {
            for (int j = 0; j < b; j++) {
                grid[i][j] = i * j + (i > 0 ? grid[i - 1][j] : 1);
            }
        }
        return grid[a - 1][b - 1] + grid.length + grid[0].length;
    }

    static String ragged(int n) {
        String[][] rows = new String[n][];
        String all = "";
        for (int i = 0; i < n; i++) {
            rows[i] = new String[i];
            for (int j = 0; j < i; j++) {
                rows[i][j] = all + j;
            }
            all += rows[i].length;
        }
        return all + rows[n - 1][0];
    }

    static int cube(int a, int b, int c) {
        long[][][] cube = new long[a][b][c];
        return cube[1].length;
    }

    static void store(Object[] array, Object value) {
        array[0] = "c";
        array[1] = value;
    }
}
