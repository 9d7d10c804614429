package loadhook;

/** Writes the profile when the JVM ends. An error is reported, and does not affect the program. */
final class ExitHook implements Runnable {
    /**
     * The classes that writing a profile needs. They are loaded with this class, because the loader
     * may be closed when the JVM ends.
     */
    static final Class<?>[] LOADED = {
        Agent.class, ColumnMessage.class, CountedMethods.class, Diagnostics.class, DisplayNames.class, Figures.class, Header.class,
        HeapCheck.class, Json.class, LoaderName.class, Method.class, Methods.class, Pprof.class, Pprof.Gzip.class,
        ProtobufWriter.class, SelfTimeEstimator.class, StringTable.class, Symbols.class, ThreadNodes.class,
        WeakKey.class,
    };

    private final ProfileFile target;

    ExitHook(Settings settings, int tracker) {
        target = new ProfileFile(settings.file, settings.append, tracker);
    }

    /**
     * Writes the profile. The method is synchronized because the program may ask for a profile
     * while the JVM ends.
     */
    @Override
    public synchronized void run() {
        try {
            target.write();
        } catch (Throwable error) {
            Diagnostics.failure("no profile: " + target, error);
        }
    }
}
