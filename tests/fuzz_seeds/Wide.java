/** long, float and double in all positions, with conversions and comparisons. */
public class Wide {
    static double sum;

    public static Object run() {
        sum = 0;
        String text = longs(5, 7L, 3) + "/" + doubles(2.5, 4f, -1) + "/" + mixed(1, 2L, 3f, 4.0, (short) 5);
        return text + "/" + compare(1.5, Double.NaN) + compare(2, 1) + "/" + shifts(0x1234567L) + "/" + sum;
    }

    static long longs(int a, long b, int c) {
        long x = a * b - c;
        long y = x << 3 | x >>> 60 ^ ~x;
        long[] all = {x, y, a, b};
        for (int i = 0; i < all.length; i++) {
            all[i] += i;
            sum += all[i];
        }
        return all[0] / (all[3] - 2) + all[1] % 1000;
    }

    static double doubles(double a, float b, int c) {
        double d = a;
        d += b;
        double e = d++ * --c;
        float f = (float) (e / a);
        sum -= f;
        return e % 3 + (double) (int) f + (long) d;
    }

    static String mixed(int i, long l, float f, double d, short s) {
        i += l;
        l += f;
        f += d;
        d += s;
        s += (byte) i;
        return i + "," + l + "," + f + "," + d + "," + s + "," + (char) (s + 60);
    }

    static int compare(double a, double b) {
        int n = a < b ? 1 : 2;
        n = 10 * n + (a > b ? 1 : 2);
        n = 10 * n + (a >= b ? 1 : 2);
        n = 10 * n + (a != b ? 1 : 2);
        n = 10 * n + ((float) a <= (float) b ? 1 : 2);
        n = 10 * n + ((long) a == (long) b ? 1 : 2);
        return n;
    }

    static long shifts(long value) {
        long result = 0;
        for (int i = 0; i < 8; i++) {
            result = result * 5 + (value >> i * 4 & 15);
        }
        return Math.abs(result) + Long.bitCount(value);
    }
}
