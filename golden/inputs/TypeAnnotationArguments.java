// javac 17 flags: -g
import java.util.Collections;

/** Type annotations of the type arguments of calls. */
public class TypeAnnotationArguments {
    @java.lang.annotation.Target(java.lang.annotation.ElementType.TYPE_USE)
    @java.lang.annotation.Retention(java.lang.annotation.RetentionPolicy.RUNTIME)
    @interface Mark {
        int value() default 0;
    }

    static int test(int n) {
        if (n == 0) {
            return Collections.<@Mark(1) String>emptyList().size();
        }
        return Collections.<@Mark(2) Integer, @Mark(3) String @Mark(4) []>emptyMap().size() + n;
    }

    public static Object run() {
        return test(0) + "," + test(3);
    }
}
