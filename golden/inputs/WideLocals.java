// javac 17 flags: -g
/** long and double locals and arguments between others, reused in disjoint blocks. */
public class WideLocals {
    static double test(int a, long b, double c, float d, Object e) {
        double result = a + b;
        for (long i = 0; i < b; i++) {
            double step = c * i;
            if (step > 3) {
                long half = (long) step / 2;
                result += half;
            } else {
                int whole = (int) step;
                result -= whole;
            }
        }
        {
            String text = String.valueOf(e);
            result += text.length();
        }
        return result + d;
    }

    public static Object run() {
        return test(1, 5, 1.5, 2.5f, "text") + "," + test(0, 0, 0, 0, null);
    }
}
