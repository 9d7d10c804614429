// javac 17 flags: -g
/** Switch expressions, with yield and a try inside while a value is on the stack. */
public class SwitchExpression {
    enum Sign { MINUS, PLUS }

    static int test(int base, Sign sign, String text) {
        return base * switch (sign) {
            case MINUS -> -1;
            case PLUS -> {
                try {
                    yield Integer.parseInt(text);
                } catch (NumberFormatException e) {
                    yield text.length();
                }
            }
        };
    }

    public static Object run() {
        return test(3, Sign.MINUS, "") + "," + test(3, Sign.PLUS, "5") + "," + test(3, Sign.PLUS, "ab");
    }
}
