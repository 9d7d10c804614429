// javac 17 flags: -g
import java.io.StringReader;

/** Type annotations of resource variables. */
public class TypeAnnotationResource {
    @java.lang.annotation.Target(java.lang.annotation.ElementType.TYPE_USE)
    @java.lang.annotation.Retention(java.lang.annotation.RetentionPolicy.RUNTIME)
    @interface Mark {
        int value() default 0;
    }

    static int test(String text) throws java.io.IOException {
        try (@Mark(1) StringReader first = new StringReader(text);
                @Mark(2) StringReader second = new StringReader("x")) {
            return first.read() + second.read();
        }
    }

    public static Object run() throws java.io.IOException {
        return test("") + "," + test("a");
    }
}
