// javac 17 flags: -g
/** try with two catches. */
public class TryCatch {
    static int test(String text, int[] cells) {
        try {
            return cells[Integer.parseInt(text)];
        } catch (NumberFormatException e) {
            return -1;
        } catch (ArrayIndexOutOfBoundsException | NullPointerException e) {
            return -2;
        }
    }

    public static Object run() {
        int[] cells = {5};
        return test("0", cells) + "," + test("x", cells) + "," + test("9", cells) + "," + test("0", null);
    }
}
