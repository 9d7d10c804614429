import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Runs a class and records its results in a form that is equal for two versions of a class: without addresses,
 * identity hashes and counters of the JVM.
 */
final class Trial implements Runnable {
    private static final int[] INTS = {0, 1, -1, 7, 1000};
    private static final int MAX_METHODS = 64;
    private static final int MAX_TEXT = 2_000;
    private static final int MAX_FRAMES = 20;
    private static final int MAX_CAUSES = 3;
    /** Parts of a text that differ from run to run: identity hashes, addresses, and the number of a lambda's class. */
    private static final Pattern VOLATILE = Pattern.compile("@?0x[0-9a-f]+|@[0-9a-f]+|(?<=\\$\\$Lambda)\\$\\d+");

    private final Class<?> type;
    private final boolean instances;

    /** The results, one text for each call. They are to be read after the run. */
    final List<String> calls = new ArrayList<>();
    long[] counts;
    String log;

    /** With {@code instances}, also constructs the class and calls instance methods. */
    Trial(Class<?> type, boolean instances) {
        this.type = type;
        this.instances = instances;
    }

    @Override
    public void run() {
        loadhook.Tracker.reset();
        try {
            callEverything();
        } finally {
            counts = loadhook.Tracker.counts();
            log = loadhook.Tracker.log();
        }
    }

    private void callEverything() {
        List<Method> methods;
        try {
            methods = callable();
        } catch (LinkageError | TypeNotPresentException e) {
            calls.add("members: " + e.getClass().getName());
            return;
        }
        Method run = methods.stream().filter(m -> m.getName().equals("run") && m.getParameterCount() == 0
                && Modifier.isStatic(m.getModifiers())).findFirst().orElse(null);
        if (run != null) {
            call(run, null);
            return;
        }
        Object instance = instances ? construct() : null;
        for (Method method : methods) {
            boolean isStatic = Modifier.isStatic(method.getModifiers());
            if (!isStatic && instance == null) {
                continue;
            }
            if (method.getParameterCount() == 0) {
                call(method, instance);
            } else {
                for (int argument : INTS) {
                    call(method, instance, argument);
                }
            }
        }
    }

    /** Returns the methods without arguments or with one int, in an order that does not depend on the JVM. */
    private List<Method> callable() {
        return Stream.of(type.getDeclaredMethods())
                .filter(m -> !Modifier.isAbstract(m.getModifiers()) && !Modifier.isNative(m.getModifiers()))
                .filter(m -> m.getParameterCount() == 0
                        || m.getParameterCount() == 1 && m.getParameterTypes()[0] == int.class)
                .sorted(Comparator.comparing(Method::getName).thenComparing(Method::getParameterCount)
                        .thenComparing(m -> m.getReturnType().getName()))
                .limit(MAX_METHODS)
                .collect(Collectors.toList());
    }

    private Object construct() {
        try {
            Constructor<?> constructor = type.getDeclaredConstructor();
            constructor.setAccessible(true);
            Object instance = constructor.newInstance();
            calls.add("<init>");
            return instance;
        } catch (InvocationTargetException e) {
            calls.add("<init> threw " + thrown(notStopped(e.getCause())));
        } catch (ReflectiveOperationException | LinkageError | RuntimeException e) {
            calls.add("<init>: " + e.getClass().getName());
        }
        return null;
    }

    private void call(Method method, Object instance, Object... arguments) {
        String name = method.getName() + Arrays.toString(arguments);
        try {
            method.setAccessible(true);
            calls.add(name + " = " + value(method.invoke(instance, arguments)));
        } catch (InvocationTargetException e) {
            calls.add(name + " threw " + thrown(notStopped(e.getCause())));
        } catch (Throwable e) {
            // The class's initialiser, or toString of a returned value, threw this error.
            calls.add(name + " threw " + thrown(notStopped(e)));
        }
    }

    /** Rethrows ThreadDeath: a thread that is being stopped must not continue with the next call. */
    private static Throwable notStopped(Throwable error) {
        if (error instanceof ThreadDeath) {
            throw (ThreadDeath) error;
        }
        return error;
    }

    private static String value(Object value) {
        if (value == null) {
            return "null";
        }
        if (value.getClass().isArray()) {
            String nested = Arrays.deepToString(new Object[] {value});
            return shorten(nested.substring(1, nested.length() - 1));
        }
        return shorten(String.valueOf(value));
    }

    /** Describes an exception with its causes, and for each the lines of this class in its stack trace. */
    private String thrown(Throwable error) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; error != null && i < MAX_CAUSES; i++, error = error.getCause()) {
            text.append(i == 0 ? "" : "; caused by ").append(error.getClass().getName());
            if (error instanceof VirtualMachineError) {
                return text.toString(); // the position of such an overflow differs from run to run
            }
            text.append(": ").append(shorten(String.valueOf(error.getMessage())));
            text.append(" at ").append(Stream.of(error.getStackTrace())
                    .filter(frame -> frame.getClassName().equals(type.getName()))
                    .limit(MAX_FRAMES)
                    .map(frame -> frame.getMethodName() + ":" + frame.getLineNumber())
                    .collect(Collectors.toList()));
        }
        return text.toString();
    }

    private static String shorten(String text) {
        String whole = text == null ? "null" : text;
        if (whole.indexOf('@') >= 0 || whole.contains("0x") || whole.contains("$$Lambda$")) {
            whole = VOLATILE.matcher(whole).replaceAll("#");
        }
        return whole.length() <= MAX_TEXT ? whole : whole.substring(0, MAX_TEXT) + "… " + whole.hashCode();
    }
}
