// javac 17 flags: -g
/** Records: canonical, compact and further constructors, ObjectMethods by invokedynamic. */
public class RecordPlain {
    record Pair(int left, String right) {
    }

    record Range(long low, double high) {
        Range {
            if (low > high) {
                throw new IllegalArgumentException();
            }
        }

        Range(long only) {
            this(only, only);
        }
    }

    public static Object run() {
        Pair pair = new Pair(1, "r");
        String text = pair + "," + pair.equals(new Pair(1, "r")) + "," + new Range(3).high();
        try {
            new Range(2, 1);
        } catch (IllegalArgumentException e) {
            text += "refused";
        }
        return text;
    }
}
