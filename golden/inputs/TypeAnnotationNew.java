// javac 17 flags: -g
import java.util.ArrayList;

/** Type annotations of new, of objects and arrays, and of constructor type arguments. */
public class TypeAnnotationNew {
    @java.lang.annotation.Target(java.lang.annotation.ElementType.TYPE_USE)
    @java.lang.annotation.Retention(java.lang.annotation.RetentionPolicy.RUNTIME)
    @interface Mark {
        int value() default 0;
    }

    <T> TypeAnnotationNew(T value) {
    }

    static int test(int n) {
        if (n == 0) {
            return 0;
        }
        Object made = new <@Mark(5) String> TypeAnnotationNew("x");
        return new @Mark(1) ArrayList<@Mark(2) String>(n).size()
            + new @Mark(3) int @Mark(4) [n].length + new String @Mark(6) [n] @Mark(7) [2].length
            + (made == null ? 1 : 0);
    }

    public static Object run() {
        return test(0) + "," + test(3);
    }
}
