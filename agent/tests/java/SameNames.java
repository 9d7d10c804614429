import java.io.InputStream;
import java.util.function.UnaryOperator;

/** Two loaders of the same name and of different classes load one class. Only the second allocates. */
public class SameNames {
    public static class Made {}

    public static class Plugin implements UnaryOperator<Object[]> {
        /** Copies the first row to the other rows by {@code clone}: the JVM itself makes the copies. */
        @Override
        public Object[] apply(Object[] rows) {
            Object made = null;
            for (int at = 1; at < rows.length; at++) {
                rows[at] = ((Made[]) rows[0]).clone();
                made = new Made();
            }
            return rows;
        }
    }

    static class Own extends ClassLoader {
        Own() {
            super("plugins", SameNames.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.equals("SameNames$Plugin")) {
                return super.loadClass(name, resolve);
            }
            Class<?> loaded = findLoadedClass(name);
            if (loaded != null) {
                return loaded;
            }
            try (InputStream stream = getParent().getResourceAsStream("SameNames$Plugin.class")) {
                byte[] bytes = stream.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (java.io.IOException error) {
                throw new ClassNotFoundException(name, error);
            }
        }
    }

    static class Other extends Own {}

    static Object[] kept;

    @SuppressWarnings("unchecked")
    static UnaryOperator<Object[]> plugin(Own loader) throws Exception {
        Class<?> plugin = loader.loadClass("SameNames$Plugin");
        return (UnaryOperator<Object[]>) plugin.getConstructor().newInstance();
    }

    public static void main(String[] args) throws Exception {
        UnaryOperator<Object[]> first = plugin(new Own());
        UnaryOperator<Object[]> second = plugin(new Other());
        Object[] nothing = {new Made[4]};
        Object[] rows = new Object[1001];
        rows[0] = nothing[0];
        first.apply(nothing);
        second.apply(nothing);
        kept = second.apply(rows);
        System.out.println(kept.length - 1);
    }
}
