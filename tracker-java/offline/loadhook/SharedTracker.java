package loadhook;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLConnection;
import java.nio.charset.StandardCharsets;

/**
 * Finds the tracker that all archives of a class loader share. Each archive may contain a tracker in a package of
 * its own. If the loader finds a tracker in the package {@code loadhook}, all share that one. Otherwise they
 * share the tracker whose package the loader's first resource {@code META-INF/loadhook/tracker} names.
 */
final class SharedTracker {
    /** The name of {@link Parts} in a tracker that was not renamed. */
    private static final String USUAL = "loadhook.Parts";

    /** The resource that names the package of a tracker that was renamed. */
    private static final String RESOURCE = "META-INF/loadhook/tracker";

    /**
     * The result of {@link #join} if the part uses this tracker. Neither a base (the number to add to an archive's
     * ids) nor a negated base has this value, because the smallest base is 2.
     */
    static final int OWN = -1;

    /** The probes of the shared tracker, set before {@link ForeignProbes} is initialised with them. */
    static Object[] probes;

    private static Class<?> elsewhere;

    private SharedTracker() {
    }

    /**
     * Asks the shared tracker for the base of a part. Returns 0 if the part must ask again later, {@link #OWN} if
     * there is no other tracker.
     */
    static int join(Class<?> part, String archive) {
        ClassLoader loader = SharedTracker.class.getClassLoader();
        String own = Parts.class.getName();
        if (loader == null || own.equals(USUAL)) {
            return OWN;
        }
        try {
            Class<?> parts = shared(loader);
            if (parts == null || parts == Parts.class) {
                return OWN;
            }
            Method join = parts.getMethod("join", Class.class, String.class, int.class);
            Object[] found = (Object[]) join.invoke(null, part, archive, Parts.VERSION);
            int base = found == null ? OWN : (Integer) found[0];
            if (base > 0) {
                probes = found;
                elsewhere = parts;
                ForeignProbes.prepare();
            }
            return base < 0 ? OWN : base;
        } catch (Throwable error) {
            // The other tracker is of a version without this method, or cannot be accessed. Each archive then
            // uses its own tracker.
            return OWN;
        }
    }

    /** Makes the shared tracker write its profile, see {@link Parts#dump}. */
    static void dump() {
        try {
            elsewhere.getMethod("dump").invoke(null);
        } catch (Exception error) {
            Diagnostics.failure("no profile", error);
        }
    }

    private static Class<?> shared(ClassLoader loader) throws IOException, ClassNotFoundException {
        try {
            return Class.forName(USUAL, true, loader);
        } catch (ClassNotFoundException error) {
            URL resource = loader.getResource(RESOURCE);
            return resource == null ? null : Class.forName(content(resource) + ".Parts", true, loader);
        }
    }

    private static String content(URL resource) throws IOException {
        URLConnection connection = resource.openConnection();
        // With a cache, the archive would stay open, and the loader's owner could
        // not replace the file.
        connection.setUseCaches(false);
        try (InputStream in = connection.getInputStream();
                BufferedReader reader = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8))) {
            return reader.readLine();
        }
    }
}
