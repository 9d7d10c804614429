import java.lang.annotation.*;
import java.util.*;
import java.util.function.*;

/** One example of each construct that has its own form in a class file. */
@Features.Mark(value = {1, 2}, name = "class", nested = @Features.Inner(kind = Features.Kind.B, type = int[].class))
public class Features<T extends @Features.Use Comparable<T>> {
    @Retention(RetentionPolicy.RUNTIME)
    @interface Mark { int[] value() default {}; String name() default ""; Inner nested() default @Inner; }
    @interface Inner { Kind kind() default Kind.A; Class<?> type() default Object.class; }
    @Target({ElementType.TYPE_USE, ElementType.TYPE_PARAMETER}) @Retention(RetentionPolicy.RUNTIME)
    @interface Use { int value() default 7; }
    enum Kind { A, B { @Override int size() { return 2; } }; int size() { return 1; } }
    sealed interface Shape permits Circle, Square { default double area() { return 0; } private int hidden() { return 1; } static int count() { return 2; } }
    record Circle(double r) implements Shape { Circle { if (r < 0) throw new IllegalArgumentException(); } @Override public double area() { return Math.PI * r * r; } }
    record Square(@Use int side, List<? extends Number> list) implements Shape {}
    @Deprecated static final long CONSTANT = 1L << 40;
    static final float F = 1.5f;
    native void nothing() throws java.io.IOException;

    @SuppressWarnings("unchecked")
    <E extends Exception> Object code(@Use(2) Object o, int... more) throws E {
        @Use List<@Use(3) String> list = new @Use ArrayList<@Use String>();
        try (Scanner scanner = new @Use(4) Scanner("x")) {
            if (o instanceof @Use(5) String) list.add((@Use(6) String) o);
            Function<String, Integer> f = @Use String::length;
            Supplier<List<String>> s = ArrayList<@Use String>::new;
            assert f.apply("a") == 1 : "assertion";
            for (@Use int i : more) list.add("" + i + f.apply(scanner.next()));
            return this.<@Use(8) String>generic(s.get().isEmpty() ? "" : null);
        } catch (@Use(9) IllegalStateException | NoSuchElementException e) {
            return Kind.valueOf("B").size() + switch (more.length) { case 0 -> 1; case 1, 2 -> 3; default -> more[0]; };
        } finally {
            list.clear();
        }
    }
    <X> X generic(X x) { class Local { X y = x; } return new Local().y; }
    Shape anonymous() { int i = 300; i += 40000; return new Shapes() { @Override public double area() { return 3; } }.get(); }
    static class Shapes { public double area() { return 1; } Shape get() { return new Circle(area()); } }
}
