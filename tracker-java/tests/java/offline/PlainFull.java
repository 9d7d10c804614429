/** Makes a tree of some hundred thousand nodes. At the end, the heap has little room left. */
public class PlainFull {
    static Object[] kept;

    public static void main(String[] args) {
        below(0, 5);
        // Arrays of a megabyte fill the heap whatever the size of its regions is. One large array might not.
        int megabytes = Integer.parseInt(args[0]);
        kept = new Object[megabytes];
        for (int n = 0; n < megabytes; n++) {
            kept[n] = new byte[(1 << 20) - 64];
        }
        System.out.println("full");
    }

    /** Calls each method that is not on the path yet, recursively. */
    static void below(int above, int depth) {
        for (int method = 0; depth > 0 && method < 12; method++) {
            if ((above >> method & 1) == 0) {
                call(method, above, depth - 1);
            }
        }
    }

    private static void call(int method, int above, int depth) {
        switch (method) {
            case 0:
                Many.m0(above, depth);
                break;
            case 1:
                Many.m1(above, depth);
                break;
            case 2:
                Many.m2(above, depth);
                break;
            case 3:
                Many.m3(above, depth);
                break;
            case 4:
                Many.m4(above, depth);
                break;
            case 5:
                Many.m5(above, depth);
                break;
            case 6:
                Many.m6(above, depth);
                break;
            case 7:
                Many.m7(above, depth);
                break;
            case 8:
                Many.m8(above, depth);
                break;
            case 9:
                Many.m9(above, depth);
                break;
            case 10:
                Many.m10(above, depth);
                break;
            case 11:
                Many.m11(above, depth);
                break;
            default:
                throw new IllegalArgumentException();
        }
    }
}
