import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Runs all classes of a tree, which is on the class path, in one loader.
 *
 * {@code RunTree TREE}: loads and initialises every class of TREE by its name, and calls {@code
 * public static Object run()} if the class has it. For each class, prints a line of escaped fields
 * that are separated by tabs: {@code name  result or exception}. Nest mates and enum bodies depend
 * on each other's private members, so they cannot be tried one by one.
 */
public final class RunTree {
    private RunTree() {}

    public static void main(String[] args) {
        Path tree = Path.of(args[0]);
        List<String> lines = new ArrayList<>();
        for (Path file : ClassTree.files(tree)) {
            String path = tree.relativize(file).toString();
            String name = path.substring(0, path.length() - ".class".length()).replace('/', '.');
            if (!name.endsWith("-info")) {
                lines.add(Lines.escape(name) + "\t" + Lines.escape(result(name)));
            }
        }
        lines.forEach(System.out::println);
    }

    private static String result(String name) {
        try {
            Class<?> type = Class.forName(name);
            for (Method method : type.getDeclaredMethods()) {
                if (method.getName().equals("run") && method.getParameterCount() == 0
                        && java.lang.reflect.Modifier.isStatic(method.getModifiers())) {
                    method.setAccessible(true);
                    return "ran " + method.invoke(null);
                }
            }
            return "loaded";
        } catch (InvocationTargetException e) {
            return "threw " + e.getCause();
        } catch (Throwable t) {
            return "failed " + t;
        }
    }
}
