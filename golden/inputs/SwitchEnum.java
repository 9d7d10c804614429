// javac 17 flags: -g
/** A switch on an enum: a synthetic class with a map, filled with handlers. */
public class SwitchEnum {
    enum Colour { RED, GREEN, BLUE }

    static int test(Colour colour) {
        switch (colour) {
            case RED:
                return 1;
            case BLUE:
                return 3;
            default:
                return 0;
        }
    }

    public static Object run() {
        return test(Colour.RED) + "," + test(Colour.GREEN) + "," + test(Colour.BLUE);
    }
}
