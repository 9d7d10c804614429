// javac 17 flags: -g
/** A switch on strings, two with one hash: lookupswitch, then tableswitch. */
public class SwitchString {
    static int test(String text) {
        switch (text) {
            case "Aa":
                return 1;
            case "BB":
                return 2;
            case "":
                return 3;
            default:
                return 4;
        }
    }

    public static Object run() {
        return test("Aa") + "," + test("BB") + "," + test("") + "," + test("C");
    }
}
