// javac 17 flags: -g
/** A sparse switch: lookupswitch. */
public class SwitchLookup {
    static String test(int n) {
        switch (n) {
            case Integer.MIN_VALUE:
                return "least";
            case -1000:
                return "below";
            case 0:
            case 1_000_000:
                return "known";
            case Integer.MAX_VALUE:
                return "greatest";
            default:
                return "other";
        }
    }

    public static Object run() {
        return test(Integer.MIN_VALUE) + test(-1000) + test(0) + test(5) + test(Integer.MAX_VALUE);
    }
}
