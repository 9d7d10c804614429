// javac 17 flags: -g
/** Type annotations of instanceof, also with a pattern. */
public class TypeAnnotationInstanceof {
    @java.lang.annotation.Target(java.lang.annotation.ElementType.TYPE_USE)
    @java.lang.annotation.Retention(java.lang.annotation.RetentionPolicy.RUNTIME)
    @interface Mark {
        int value() default 0;
    }

    static int test(Object o) {
        if (o instanceof @Mark(1) Integer) {
            return 1;
        }
        return o instanceof @Mark(2) String text ? text.length() : -1;
    }

    public static Object run() {
        return test(1) + "," + test("four") + "," + test(null);
    }
}
