// javac 17 flags: -g
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.Supplier;

/** Method references of all kinds. */
public class MethodReference {
    static String twice(String text) {
        return text + text;
    }

    public static Object run() {
        String bound = "bound";
        Function<String, String> ofStatic = MethodReference::twice;
        Function<String, Integer> unbound = String::length;
        Supplier<Integer> ofBound = bound::length;
        Function<String, StringBuilder> constructor = StringBuilder::new;
        IntFunction<int[]> array = int[]::new;
        return ofStatic.apply("a") + unbound.apply("abc") + ofBound.get()
            + constructor.apply("new") + array.apply(4).length;
    }
}
