import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.function.IntUnaryOperator;
import java.util.function.Supplier;

/** Defines unusual and malformed classes. */
public final class Odd {
    interface Greeter {
        String greet(String name);
    }

    static int twice(int i) {
        return 2 * i;
    }

    static void lambdas() {
        IntUnaryOperator sum = i -> twice(i) + 1;
        IntUnaryOperator reference = Odd::twice;
        int total = 0;
        for (int i = 0; i < 100; i++) {
            total += sum.applyAsInt(i) + reference.applyAsInt(i);
            int captured = i;
            Supplier<String> text = () -> "a" + captured + twice(captured);
            total += text.get().length();
        }
        List<String> words = new ArrayList<>(Arrays.asList("d", "b", "c", "a"));
        words.sort(Comparator.comparing((String word) -> word).reversed());
        System.out.println(total + " " + words);
    }

    static void proxies() {
        InvocationHandler handler = (proxy, method, arguments) -> method.getName() + " " + arguments[0];
        Greeter greeter = (Greeter) Proxy.newProxyInstance(Odd.class.getClassLoader(), new Class<?>[] {Greeter.class},
                handler);
        for (int i = 0; i < 50; i++) {
            if (i % 25 == 0) {
                System.out.println(greeter.greet("you"));
            } else {
                greeter.greet("me");
            }
        }
        System.out.println(Proxy.isProxyClass(greeter.getClass()));
    }

    static void handles() throws Throwable {
        MethodHandle twice = MethodHandles.lookup().findStatic(Odd.class, "twice",
                MethodType.methodType(int.class, int.class));
        MethodHandle four = MethodHandles.filterReturnValue(twice, twice);
        int total = 0;
        for (int i = 0; i < 100; i++) {
            total += (int) four.invokeExact(i);
        }
        System.out.println(total);
    }

    /** Uses reflection, because hidden classes exist from JDK 15 on. */
    static void hidden(byte[] bytes) throws Throwable {
        Class<?> options = Class.forName("[Ljava.lang.invoke.MethodHandles$Lookup$ClassOption;");
        Method define = MethodHandles.Lookup.class.getMethod("defineHiddenClass", byte[].class, boolean.class,
                options);
        for (int i = 0; i < 3; i++) {
            MethodHandles.Lookup lookup = (MethodHandles.Lookup) define.invoke(MethodHandles.lookup(), bytes, true,
                    java.lang.reflect.Array.newInstance(options.getComponentType(), 0));
            Class<?> hidden = lookup.lookupClass();
            System.out.println(hidden.getName().startsWith("Hideable/") + " "
                    + hidden.getMethod("get").invoke(null));
        }
    }

    static final class Definer extends ClassLoader {
        Class<?> define(String name, byte[] bytes) {
            return defineClass(name, bytes, 0, bytes.length);
        }
    }

    /** Defines bytes without giving the name of the class. */
    static void nameless(byte[] bytes) throws Exception {
        Class<?> nameless = new Definer().define(null, bytes);
        System.out.println(nameless.getName() + " " + nameless.getMethod("get").invoke(null));
    }

    static String tried(byte[] bytes) {
        Class<?> made;
        try {
            made = new Definer().define(null, bytes);
        } catch (Throwable e) {
            return "refused: " + e;
        }
        try {
            made.getDeclaredMethods();
        } catch (Throwable e) {
            return "unlinked: " + e.getClass().getName();
        }
        return "good";
    }

    static void garbage(byte[] bytes, int count) {
        Random random = new Random(42);
        byte[] noise = new byte[1000];
        random.nextBytes(noise);
        System.out.println("noise " + tried(noise));
        System.out.println("empty " + tried(new byte[0]));
        System.out.println("magic " + tried(new byte[] {(byte) 0xCA, (byte) 0xFE, (byte) 0xBA, (byte) 0xBE}));
        for (int length = 0; length < bytes.length; length += 7) {
            System.out.println(length + " " + tried(Arrays.copyOf(bytes, length)));
        }
        for (int i = 0; i < count; i++) {
            byte[] mutant = bytes.clone();
            for (int change = random.nextInt(3); change >= 0; change--) {
                // Keep the version: the rules differ between versions, so the results would differ.
                mutant[8 + random.nextInt(mutant.length - 8)] = (byte) random.nextInt();
            }
            System.out.println(i + " " + tried(mutant));
        }
    }

    public static void main(String[] args) throws Throwable {
        Path folder = Paths.get(args[1]);
        switch (args[0]) {
            case "lambdas":
                lambdas();
                break;
            case "proxies":
                proxies();
                break;
            case "handles":
                handles();
                break;
            case "hidden":
                hidden(Files.readAllBytes(folder.resolve("Hideable.class")));
                break;
            case "nameless":
                nameless(Files.readAllBytes(folder.resolve("Hideable.class")));
                break;
            case "garbage":
                garbage(Files.readAllBytes(folder.resolve("Varied.class")), 3000);
                break;
            default:
                throw new IllegalArgumentException(args[0]);
        }
    }
}
