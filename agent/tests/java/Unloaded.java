import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;

/** Loads a class that allocates, in loaders that are dropped afterwards. */
public class Unloaded {
    public static volatile Object sink;

    public static final class Leaving implements Runnable {
        @Override
        public void run() {
            for (int i = 0; i < 2000; i++) {
                sink = new byte[100]; // @leaving
            }
        }
    }

    static final class Loader extends ClassLoader {
        Class<?> leaving() throws Exception {
            try (InputStream in = Unloaded.class.getResourceAsStream("Unloaded$Leaving.class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass("Unloaded$Leaving", bytes, 0, bytes.length);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        List<WeakReference<Loader>> loaders = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            Loader loader = new Loader();
            loaders.add(new WeakReference<>(loader));
            ((Runnable) loader.leaving().getConstructor().newInstance()).run();
            loader = null;
            if (i % 10 == 9) {
                System.gc();
            }
        }
        loaders.removeIf(loader -> loader.get() == null);
        System.out.println(loaders.size() < 10 ? "unloaded" : "still there: " + loaders.size());
    }
}
