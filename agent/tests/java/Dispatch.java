import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.IntUnaryOperator;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/** Calls that are not a plain invoke instruction in the caller. */
public final class Dispatch {
    static final int ROUNDS = 1000;

    static long leaves;

    static void leaf() {
        leaves++;
    }

    // Reflection: after some calls of a method, the JDK generates a class that calls it.

    public static int reflected(int i) {
        leaf();
        if (i % 2 == 0) {
            throw new IllegalStateException();
        }
        return i;
    }

    public static final class Made {
        public Made() {
            leaf();
        }
    }

    static void reflection() throws Exception {
        Method method = Dispatch.class.getMethod("reflected", int.class);
        Constructor<Made> constructor = Made.class.getConstructor();
        for (int i = 0; i < ROUNDS; i++) {
            constructor.newInstance();
            try {
                method.invoke(null, i);
            } catch (InvocationTargetException e) {
                leaf();
            }
        }
    }

    static void handles() throws Throwable {
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        MethodHandle handle = lookup.findStatic(Dispatch.class, "reflected",
                MethodType.methodType(int.class, int.class));
        MethodHandle negated = MethodHandles.filterReturnValue(handle,
                lookup.findStatic(Dispatch.class, "negate", MethodType.methodType(int.class, int.class)));
        for (int i = 0; i < ROUNDS; i++) {
            try {
                int ignored = (int) negated.invokeExact(i);
            } catch (IllegalStateException e) {
                leaf();
            }
        }
    }

    static int negate(int i) {
        return -i;
    }

    // Lambdas: their bodies are methods of this class, and hidden classes call them.

    static int lambda() {
        int captured = ROUNDS;
        IntUnaryOperator operator = i -> reflected(i | 1) + captured;
        int sum = 0;
        for (int i = 0; i < ROUNDS; i++) {
            sum += operator.applyAsInt(i);
        }
        return sum;
    }

    static int reference() {
        return IntStream.range(0, ROUNDS).map(Dispatch::negate).sum();
    }

    static void constructorReference() {
        Supplier<Made> supplier = Made::new;
        for (int i = 0; i < ROUNDS; i++) {
            supplier.get();
        }
    }

    // A proxy of an interface that is not public is a class of its package; one of a public interface is the JDK's.

    interface Hidden {
        int call(int i);
    }

    static int proxied(Object proxy, Method method, Object[] arguments) {
        leaf();
        return (Integer) arguments[0];
    }

    static int proxy() {
        Runnable open = (Runnable) Proxy.newProxyInstance(Dispatch.class.getClassLoader(),
                new Class<?>[] {Runnable.class}, (proxy, method, arguments) -> {
                    leaf();
                    return null;
                });
        Hidden own = (Hidden) Proxy.newProxyInstance(Dispatch.class.getClassLoader(),
                new Class<?>[] {Hidden.class}, Dispatch::proxied);
        int sum = 0;
        for (int i = 0; i < ROUNDS; i++) {
            open.run();
            sum += own.call(i);
        }
        return sum;
    }

    // Bridges and interfaces.

    static final class Item implements Comparable<Item> {
        final int value;

        Item(int value) {
            this.value = value;
        }

        @Override
        public int compareTo(Item other) {
            leaf();
            return Integer.compare(value, other.value);
        }
    }

    static void bridge() {
        List<Item> items = new ArrayList<>();
        for (int i = 0; i < ROUNDS; i++) {
            items.add(new Item(i));
        }
        // Sorting a sorted list compares each pair of neighbours once.
        Collections.sort(items);
    }

    interface Shape {
        default int area() {
            return own() + shared();
        }

        private int own() {
            leaf();
            return side();
        }

        static int shared() {
            leaf();
            return 1;
        }

        int side();
    }

    static final class Square implements Shape {
        @Override
        public int side() {
            return 2;
        }
    }

    static final class Other implements Shape {
        @Override
        public int area() {
            return Shape.super.area();
        }

        @Override
        public int side() {
            return 3;
        }
    }

    static int interfaces() {
        Shape[] shapes = {new Square(), new Other()};
        int area = 0;
        for (int i = 0; i < ROUNDS; i++) {
            area += shapes[i % 2].area();
        }
        return area;
    }

    // Initialisers run when the class is first used.

    static class Parent {
        static int value = initial();

        static int initial() {
            leaf();
            return 1;
        }
    }

    static final class Child extends Parent {
        static int own = Parent.value + 1;

        static int use() {
            return own;
        }
    }

    static final class Broken {
        static int value = fails();

        static int fails() {
            throw new IllegalStateException();
        }
    }

    static void initialisers() {
        Child.use();
        Child.use();
        for (int i = 0; i < 10; i++) {
            try {
                Broken.value++;
            } catch (ExceptionInInitializerError | NoClassDefFoundError e) {
                leaf();
            }
        }
    }

    enum Colour {
        RED, GREEN {
            @Override
            void paint() {
                super.paint();
                leaf();
            }
        };

        void paint() {
            leaf();
        }
    }

    static void enums() {
        for (int i = 0; i < ROUNDS; i++) {
            for (Colour colour : Colour.values()) {
                colour.paint();
            }
        }
    }

    // No class-load hook sees a hidden class (JDK 15 on). It has its own name and counts as the class of its bytes.

    public static final class Template implements Runnable {
        @Override
        public void run() {
            leaf();
        }
    }

    static void hidden() throws Exception {
        byte[] bytes = Dispatch.class.getResourceAsStream("Dispatch$Template.class").readAllBytes();
        Runnable runnable = hide(bytes);
        for (int i = 0; i < ROUNDS; i++) {
            runnable.run();
        }
    }

    private static Runnable hide(byte[] bytes) throws Exception {
        Class<?> options = Class.forName("java.lang.invoke.MethodHandles$Lookup$ClassOption");
        Object nestmate = options.getEnumConstants()[0];
        Object none = java.lang.reflect.Array.newInstance(options, 1);
        java.lang.reflect.Array.set(none, 0, nestmate);
        Method define = MethodHandles.Lookup.class.getMethod("defineHiddenClass", byte[].class, boolean.class,
                none.getClass());
        MethodHandles.Lookup lookup = (MethodHandles.Lookup) define.invoke(MethodHandles.lookup(), bytes, true, none);
        return (Runnable) lookup.lookupClass().getConstructor().newInstance();
    }

    public static void main(String[] args) throws Throwable {
        reflection();
        handles();
        int sum = lambda() + reference() + proxy() + interfaces();
        constructorReference();
        bridge();
        initialisers();
        enums();
        if (args.length != 0) {
            hidden();
        }
        System.out.println(sum + " " + leaves);
    }
}
