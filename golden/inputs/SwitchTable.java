// javac 17 flags: -g
/** A dense switch with fall-through and default: tableswitch. */
public class SwitchTable {
    static int test(int n) {
        int result = 0;
        switch (n) {
            case 0:
                result += 1;
            case 1:
                result += 10;
                break;
            case 2:
                return 7;
            default:
                result -= 1;
            case 4:
                result += 100;
        }
        return result;
    }

    public static Object run() {
        return test(0) + "," + test(1) + "," + test(2) + "," + test(3) + "," + test(4) + "," + test(-9);
    }
}
