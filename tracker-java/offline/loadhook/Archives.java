package loadhook;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The archives that share this tracker. Copies of an archive share their ids if the copies' class loaders have
 * the same class and name. A collected copy takes no memory.
 *
 * Some programs give each loader a name of its own, {@code plugin-1}, {@code plugin-2} and so on.
 * Once many loaders are gone whose names differ only by numbers, all further ones count as one
 * loader, {@code plugin-#}.
 */
final class Archives {
    /**
     * The number of collected loaders with one name pattern after which all further loaders of that pattern count
     * as one.
     */
    private static final int MOST_GONE = 256;
    /**
     * The number of archives and loaders after which all further loaders count as one, whatever
     * their names.
     */
    private static final int MOST = 1 << 15;
    private static final String OTHERS = "(other loaders)";

    /** The smallest base. In {@link Part}, smaller numbers have other meanings. */
    private static final int FIRST = 2;

    private static final ReferenceQueue<Class<?>> UNLOADED = new ReferenceQueue<Class<?>>();
    /** The live archives, each by its class {@link Part}. */
    private static final Map<WeakKey<Class<?>>, Symbols> PARTS = new HashMap<WeakKey<Class<?>>, Symbols>();
    /**
     * All archives by their ids and the class and name of their loaders, in the order of their bases. A collected
     * archive stays, because its calls stay in the profile.
     */
    private static final Map<String, Symbols> ALL = new LinkedHashMap<String, Symbols>();
    /** The number of collected loaders for each name pattern. */
    private static final Map<String, Integer> GONE = new HashMap<String, Integer>();
    private static int next = FIRST;
    private static long folded;

    private Archives() {
    }

    /**
     * Registers an archive. Returns its base, which is the number at which its ids begin, or -1 if no ids are
     * left. Two threads may register the same archive at once.
     *
     * @param archive the archive's id and the number of its method ids
     */
    static int add(Class<?> part, String archive) {
        WeakKey<Class<?>> key = new WeakKey<Class<?>>(part, UNLOADED);
        String className = LoaderName.className(part);
        String name = LoaderName.givenName(part);
        Symbols symbols;
        boolean first;
        // No code of the program is called while the lock is held: that code could wait for a thread that waits
        // for the lock.
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

    /** Returns a note for the profile; null if every loader has a name of its own. */
    static String note() {
        synchronized (ALL) {
            return folded == 0 ? null : folded + " class loaders that come and go share names (# stands for the numbers in them),"
                    + " because " + MOST_GONE + " loaders of such a name had been collected";
        }
    }
}
