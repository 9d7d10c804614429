// javac 17 flags: -g
/** Type annotations kept in the class file only: RuntimeInvisibleTypeAnnotations; in a lambda. */
public class TypeAnnotationInvisible {
    @java.lang.annotation.Target(java.lang.annotation.ElementType.TYPE_USE)
    @java.lang.annotation.Retention(java.lang.annotation.RetentionPolicy.CLASS)
    @interface Note {
    }

    static int test(Object o) {
        java.util.function.ToIntFunction<@Note Object> length = (@Note Object one) -> {
            @Note String text = (@Note String) one;
            return text.length();
        };
        return o instanceof @Note String ? length.applyAsInt(o) : new @Note Object().hashCode() * 0;
    }

    public static Object run() {
        return test("abc") + "," + test(1);
    }
}
