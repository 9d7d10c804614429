import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.function.IntBinaryOperator;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Lambdas, method references, concatenation by invokedynamic, private calls between nest mates. */
public class Modern {
    private final List<String> names = new ArrayList<>();
    private int calls;

    public static Object run() {
        Modern modern = new Modern();
        for (int i = 0; i < 3; i++) {
            modern.add("n" + i + (char) ('a' + i) + 2.5f * i);
        }
        IntBinaryOperator operator = (a, b) -> a * 10 + b;
        Supplier<Object> failing = () -> {
            if (modern.calls > 2) {
                throw new IllegalStateException("calls " + modern.calls);
            }
            return modern.names;
        };
        String text = modern.join(String::toUpperCase) + operator.applyAsInt(modern.calls, 4);
        try {
            return text + failing.get();
        } catch (IllegalStateException e) {
            return text + e.getMessage();
        }
    }

    private void add(String name) {
        names.add(name);
        calls++;
    }

    private String join(Function<String, String> f) {
        return names.stream().map(f).filter(n -> !n.contains("1")).collect(Collectors.joining("+")) + Stream.of(1, 2).count();
    }
}
