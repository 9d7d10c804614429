// javac 17 flags: -g
import java.util.List;

/** Type annotations of local variables: ranges, arrays, type arguments. */
public class TypeAnnotationLocals {
    @java.lang.annotation.Target(java.lang.annotation.ElementType.TYPE_USE)
    @java.lang.annotation.Retention(java.lang.annotation.RetentionPolicy.RUNTIME)
    @interface Mark {
        int value() default 0;
    }

    static int test(int n) {
        @Mark(1) String first = "a";
        if (n > 1) {
            @Mark(2) long second = n;
            n += (int) second;
        } else {
            List<@Mark(3) String> third = List.of(first);
            n += third.size();
        }
        @Mark(4) int @Mark(5) [] fourth = new int[n];
        return fourth.length + first.length();
    }

    public static Object run() {
        return test(1) + "," + test(5);
    }
}
