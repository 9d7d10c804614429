// javac 17 flags: -g
import java.util.function.IntUnaryOperator;
import java.util.function.Supplier;

/** Lambdas: bodies are methods of this class, static and not, capturing or not. */
public class Lambda {
    private final int factor = 3;

    IntUnaryOperator instance(long captured) {
        return n -> (int) (n * factor + captured);
    }

    static Supplier<Supplier<String>> nested(String text) {
        return () -> () -> {
            try {
                return String.valueOf(Integer.parseInt(text));
            } catch (NumberFormatException e) {
                return "none";
            }
        };
    }

    public static Object run() {
        IntUnaryOperator plain = n -> n + 1;
        return plain.applyAsInt(1) + "," + new Lambda().instance(7).applyAsInt(2) + ","
            + nested("x").get().get() + nested("4").get().get();
    }
}
