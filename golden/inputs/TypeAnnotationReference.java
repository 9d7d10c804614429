// javac 17 flags: -g
import java.util.function.Function;
import java.util.function.Supplier;

/** Type annotations of method and constructor references and of their type arguments. */
public class TypeAnnotationReference {
    @java.lang.annotation.Target(java.lang.annotation.ElementType.TYPE_USE)
    @java.lang.annotation.Retention(java.lang.annotation.RetentionPolicy.RUNTIME)
    @interface Mark {
        int value() default 0;
    }

    <T> TypeAnnotationReference() {
    }

    static <T> T same(T value) {
        return value;
    }

    static int test(int n) {
        if (n == 0) {
            return 0;
        }
        Function<Object, String> method = @Mark(1) Object::toString;
        Supplier<Object> constructor = @Mark(2) Object::new;
        Function<String, String> argument = TypeAnnotationReference::<@Mark(3) String>same;
        Supplier<Object> constructorArgument = TypeAnnotationReference::<@Mark(4) String>new;
        constructorArgument.get();
        return method.apply(n).length() + argument.apply("abc").length()
            + (constructor.get() == null ? 1 : 0);
    }

    public static Object run() {
        return test(0) + "," + test(3);
    }
}
