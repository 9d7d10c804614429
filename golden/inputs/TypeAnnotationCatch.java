// javac 17 flags: -g
/** Type annotations of catch parameters: indexes into the exception table. */
public class TypeAnnotationCatch {
    @java.lang.annotation.Target(java.lang.annotation.ElementType.TYPE_USE)
    @java.lang.annotation.Retention(java.lang.annotation.RetentionPolicy.RUNTIME)
    @interface Mark {
        int value() default 0;
    }

    static int test(String text) {
        try {
            return Integer.parseInt(text);
        } catch (@Mark(1) NumberFormatException e) {
            try {
                return text.length();
            } catch (@Mark(2) NullPointerException | @Mark(3) IllegalStateException f) {
                return -1;
            }
        }
    }

    public static Object run() {
        return test("5") + "," + test("abc") + "," + test(null);
    }
}
