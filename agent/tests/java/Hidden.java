import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodHandles.Lookup;
import java.lang.invoke.MethodType;
import java.lang.ref.WeakReference;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntUnaryOperator;
import java.util.function.Supplier;

/**
 * Hidden classes; anonymous ones before JDK 15. Reflection is used, since javac compiles for JDK 11.
 */
public final class Hidden {
    static final boolean ANONYMOUS = Runtime.version().feature() < 15;

    static byte[] bytes(String name) throws Exception {
        try (InputStream in = Hidden.class.getResourceAsStream("/" + name + ".class")) {
            return in.readAllBytes();
        }
    }

    private static int secret(int i) {
        return i + 1;
    }

    /** Defines a hidden class, with class data if there is any. */
    static Class<?> define(byte[] bytes, boolean initialize, Object data, String... options) throws Exception {
        if (ANONYMOUS) {
            Class<?> unsafe = Class.forName("sun.misc.Unsafe");
            Field field = unsafe.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            Method define = unsafe.getMethod("defineAnonymousClass", Class.class, byte[].class, Object[].class);
            return (Class<?>) define.invoke(field.get(null), Hidden.class, bytes, null);
        }
        Class<?> type = Class.forName("java.lang.invoke.MethodHandles$Lookup$ClassOption");
        Object array = Array.newInstance(type, options.length);
        for (int i = 0; i < options.length; i++) {
            for (Object constant : type.getEnumConstants()) {
                if (constant.toString().equals(options[i])) {
                    Array.set(array, i, constant);
                }
            }
        }
        Lookup lookup;
        if (data == null) {
            Method define = Lookup.class.getMethod("defineHiddenClass", byte[].class, boolean.class, array.getClass());
            lookup = (Lookup) define.invoke(MethodHandles.lookup(), bytes, initialize, array);
        } else {
            Method define = Lookup.class.getMethod("defineHiddenClassWithClassData", byte[].class, Object.class,
                    boolean.class, array.getClass());
            lookup = (Lookup) define.invoke(MethodHandles.lookup(), bytes, data, initialize, array);
        }
        return lookup.lookupClass();
    }

    static int call(Class<?> hidden, String name, int argument) throws Throwable {
        Method method = hidden.getDeclaredMethod(name, int.class);
        method.setAccessible(true);
        MethodHandle handle = MethodHandles.lookup().unreflect(method);
        return (int) handle.invoke(argument);
    }

    /** Calls one class that was loaded normally and twenty hidden copies of it, 30 times each. */
    static void copies() throws Throwable {
        int sum = 0;
        byte[] bytes = bytes("Counted");
        for (int copy = 0; copy < 20; copy++) {
            Class<?> hidden = define(bytes, copy % 2 == 0, null);
            for (int i = 0; i < 30; i++) {
                sum += call(hidden, "run", i);
            }
        }
        for (int i = 0; i < 30; i++) {
            sum += Counted.run(i);
        }
        System.out.println(sum);
    }

    static void options() throws Throwable {
        Class<?> mate = define(bytes("Hidden$Mate"), true, null, "NESTMATE");
        Class<?> strong = define(bytes("Counted"), true, null, "STRONG", "NESTMATE");
        int sum = 0;
        for (int i = 0; i < 7; i++) {
            sum += call(mate, "reach", i) + call(strong, "run", i);
        }
        Class<?> data = define(bytes("Data"), true, List.of("kept"));
        System.out.println(sum + " " + mate.getNestHost().getName() + " " + call(data, "length", 3));
    }

    static void exceptions() throws Throwable {
        Class<?> hidden = define(bytes("Counted"), false, null);
        int caught = 0;
        for (int i = 0; i < 11; i++) {
            try {
                call(hidden, "fail", i);
            } catch (IllegalStateException e) {
                caught += e.getMessage().length();
            }
        }
        try {
            define(new byte[] {1, 2, 3, 4}, true, null);
        } catch (Exception e) {
            System.out.println(e.getCause());
        }
        byte[] cut = java.util.Arrays.copyOf(bytes("Counted"), 300);
        try {
            define(cut, true, null);
        } catch (Exception e) {
            System.out.println(e.getCause());
        }
        try {
            define(bytes("Failing"), true, null);
        } catch (Exception e) {
            Throwable cause = e.getCause();
            System.out.println(cause.getClass() + " " + cause.getCause() + " "
                    + cause.getCause().getStackTrace()[0].getMethodName());
        }
        System.out.println(caught);
    }

    static void unloading() throws Throwable {
        List<WeakReference<Class<?>>> gone = new ArrayList<>();
        byte[] bytes = bytes("Counted");
        for (int i = 0; i < 2000; i++) {
            Class<?> hidden = define(bytes, true, null);
            call(hidden, "run", i);
            gone.add(new WeakReference<>(hidden));
        }
        for (int i = 0; i < 100 && !gone.isEmpty(); i++) {
            System.gc();
            gone.removeIf(reference -> reference.get() == null);
        }
        System.out.println(gone.size() < 50);
    }

    static int twice(int i) {
        return 2 * i;
    }

    static void lambdas() {
        List<IntUnaryOperator> all = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            int captured = i;
            all.add(x -> twice(x) + captured);
            all.add(Hidden::twice);
            Supplier<String> text = () -> "a" + captured;
            all.add(x -> text.get().length());
        }
        int sum = 0;
        for (IntUnaryOperator each : all) {
            sum += each.applyAsInt(3);
        }
        System.out.println(sum);
    }

    /** Defines a hidden class before the agents that follow on the command line can act. */
    public static void premain(String arguments) throws Throwable {
        EARLY.add(define(bytes("Counted"), true, null));
    }

    static final List<Class<?>> EARLY = new ArrayList<>();

    static void early() throws Throwable {
        int sum = 0;
        for (int i = 0; i < 30; i++) {
            sum += call(EARLY.get(0), "run", i) + Counted.run(i);
        }
        System.out.println(sum);
    }

    /** Runs a hidden class whose instructions allocate. */
    static void allocations() throws Throwable {
        Class<?> hidden = define(bytes("Making"), true, null);
        int sum = 0;
        for (int i = 0; i < 30; i++) {
            sum += call(hidden, "make", i) + Making.make(i);
        }
        Class<?> alone = define(bytes("Alone"), true, null);
        for (int i = 0; i < 30; i++) {
            sum += call(alone, "make", i);
        }
        System.out.println(sum);
    }

    /** Defines hidden classes, and calls them and their ordinary copies, when the standard input asks for it. */
    static void orders() throws Throwable {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        List<Class<?>> counted = new ArrayList<>();
        List<Class<?>> making = new ArrayList<>();
        System.out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "define":
                    counted.add(define(bytes("Counted"), true, null));
                    making.add(define(bytes("Making"), true, null));
                    break;
                case "call":
                    for (int i = 0; i < Integer.parseInt(words[1]); i++) {
                        for (int copy = 0; copy < counted.size(); copy++) {
                            call(counted.get(copy), "run", i);
                            call(making.get(copy), "make", i);
                        }
                        Counted.run(i);
                        Making.make(i);
                    }
                    break;
                default:
                    return;
            }
            System.out.println("done");
        }
    }

    public static void main(String[] args) throws Throwable {
        if (args.length == 0) {
            orders();
        }
        for (String mode : args) {
            switch (mode) {
                case "copies":
                    copies();
                    break;
                case "options":
                    options();
                    break;
                case "exceptions":
                    exceptions();
                    break;
                case "unloading":
                    unloading();
                    break;
                case "lambdas":
                    lambdas();
                    break;
                case "early":
                    early();
                    break;
                case "allocations":
                    allocations();
                    break;
                default:
                    throw new IllegalArgumentException(mode);
            }
        }
    }

    static final class Mate {
        static int reach(int i) {
            return secret(i);
        }
    }
}

final class Counted {
    static int run(int i) {
        return step(i);
    }

    static int step(int i) {
        return i * 2;
    }

    static int fail(int i) {
        if (step(i) >= 0) {
            throw new IllegalStateException("no");
        }
        return i;
    }
}

final class Data {
    static int length(int i) throws Throwable {
        MethodHandle data = MethodHandles.lookup().findStatic(MethodHandles.class, "classData",
                MethodType.methodType(Object.class, Lookup.class, String.class, Class.class));
        List<?> kept = (List<?>) data.invoke(MethodHandles.lookup(), "_", List.class);
        return kept.get(0).toString().length() + i;
    }
}

final class Failing {
    static {
        if (true) {
            throw new IllegalStateException("at once");
        }
    }
}

final class Making {
    static int make(int i) {
        return new int[i].length + new Making().hashCode() * 0;
    }
}

final class Alone {
    long a;
    long b;

    static int make(int i) {
        return new Alone().hashCode() * 0 + i;
    }
}
