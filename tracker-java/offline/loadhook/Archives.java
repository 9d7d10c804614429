package loadhook;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The archives that share this tracker. Copies of one in loaders of one class and name share their ids, and of a copy that is
 * gone nothing stays. Where programs give each loader a name of its own, {@code plugin-1}, {@code plugin-2} and on, and many
 * that differ by numbers only are gone, further ones are as one, {@code plugin-#}.
 */
final class Archives {
    /** So many of one pattern are gone before further ones are one. */
    private static final int MOST_GONE = 256;
    /** So many in all, and further loaders are as one, whatever they are called. */
    private static final int MOST = 1 << 15;
    private static final String OTHERS = "(other loaders)";

    /** The least base: {@link Part} has a meaning for the numbers below, negated. */
    private static final int FIRST = 2;

    private static final ReferenceQueue<Class<?>> UNLOADED = new ReferenceQueue<Class<?>>();
    /** By part, those that are there. */
    private static final Map<WeakKey<Class<?>>, Symbols> PARTS = new HashMap<WeakKey<Class<?>>, Symbols>();
    /** By archive and kind of loader, in the order of their bases: the calls of one that is gone are still there. */
    private static final Map<String, Symbols> ALL = new LinkedHashMap<String, Symbols>();
    /** By pattern, how many are gone. */
    private static final Map<String, Integer> GONE = new HashMap<String, Integer>();
    private static int next = FIRST;
    private static long folded;

    private Archives() {
    }

    /**
     * Where an archive's ids begin, which two threads may ask at once; -1 if there are none left.
     *
     * @param archive its id and the number of its ids
     */
    static int add(Class<?> part, String archive) {
        WeakKey<Class<?>> key = new WeakKey<Class<?>>(part, UNLOADED);
        String className = LoaderName.className(part);
        String name = LoaderName.givenName(part);
        Symbols symbols;
        boolean first;
        // Nothing foreign is called in here: it could wait for another thread, which waits here.
        synchronized (ALL) {
            forget();
            symbols = PARTS.get(key);
            if (symbols != null) {
                return symbols.base;
            }
            String kind = archive + '\0' + className + '\0';
            String pattern = kind + EndedThreads.withoutNumbers(name);
            symbols = ALL.get(kind + name);
            if (symbols == null) {
                Integer gone = GONE.get(pattern);
                boolean folds = gone != null && gone >= MOST_GONE;
                if (folds) {
                    name = EndedThreads.withoutNumbers(name);
                } else if (ALL.size() >= MOST) {
                    name = OTHERS;
                    folds = true;
                }
                folded += folds ? 1 : 0;
                symbols = ALL.get(kind + name);
                if (symbols == null) {
                    int space = archive.indexOf(' ');
                    int ids = Integer.parseInt(archive.substring(space + 1));
                    if (ids > Integer.MAX_VALUE - next) {
                        return -1;
                    }
                    LoaderName loader = LoaderName.of(part, name.isEmpty() ? className : name);
                    symbols = new Symbols(loader, archive.substring(0, space), next, ids, folds ? null : pattern);
                    next += ids;
                    ALL.put(kind + name, symbols);
                }
            }
            PARTS.put(key, symbols);
            first = symbols.add(key);
        }
        if (first) {
            symbols.locate(part);
        }
        return symbols.base;
    }

    private static void forget() {
        for (Reference<?> part = UNLOADED.poll(); part != null; part = UNLOADED.poll()) {
            Symbols symbols = PARTS.remove(part);
            String pattern = symbols == null ? null : symbols.forget();
            if (pattern != null) {
                Integer gone = GONE.get(pattern);
                GONE.put(pattern, gone == null ? 1 : gone + 1);
            }
        }
    }

    static Symbols[] all() {
        synchronized (ALL) {
            return ALL.values().toArray(new Symbols[0]);
        }
    }

    /** A note for the profile; null if no loaders were folded. */
    static String note() {
        synchronized (ALL) {
            return folded == 0 ? null : folded + " class loaders that come and go are called with # for the numbers in their"
                    + " names: " + MOST_GONE + " like each were gone before";
        }
    }
}
