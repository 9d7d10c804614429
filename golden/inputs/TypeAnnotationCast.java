// javac 17 flags: -g
import java.io.Serializable;

/** Type annotations of casts, also of an intersection. */
public class TypeAnnotationCast {
    @java.lang.annotation.Target(java.lang.annotation.ElementType.TYPE_USE)
    @java.lang.annotation.Retention(java.lang.annotation.RetentionPolicy.RUNTIME)
    @interface Mark {
        int value() default 0;
    }

    static int test(Object o) {
        if (o == null) {
            return -1;
        }
        Runnable task = (@Mark(2) Runnable & @Mark(3) Serializable) () -> { };
        task.run();
        return ((@Mark(1) String) o).length() + (int) (@Mark(4) long) o.hashCode() % 2;
    }

    public static Object run() {
        return test(null) + "," + test("abc");
    }
}
