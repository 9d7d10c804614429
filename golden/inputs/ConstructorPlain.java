// javac 17 flags: -g
/** Constructors that call super first, without conditions or handlers. */
public class ConstructorPlain extends Exception {
    private final int value;

    ConstructorPlain() {
        value = 1;
    }

    ConstructorPlain(String message, int value) {
        super(message);
        this.value = value;
        if (value > 5) {
            return;
        }
        System.getProperty("x");
    }

    ConstructorPlain(long first, double second, int... rest) {
        super(String.valueOf(first + second));
        value = rest.length;
    }

    public static Object run() {
        ConstructorPlain[] all = {
            new ConstructorPlain(), new ConstructorPlain("m", 3), new ConstructorPlain("n", 9),
            new ConstructorPlain(1L, 2.5, 7, 8),
        };
        StringBuilder text = new StringBuilder();
        for (ConstructorPlain one : all) {
            text.append(one.getMessage()).append(one.value);
        }
        return text.toString();
    }
}
