package loadhook;

/** Writes the profile when the JVM ends. What goes wrong is told and changes nothing for the program. */
final class ExitHook implements Runnable {
    /** What it needs, loaded when it is made: at the end the loader may be closed. */
    static final Class<?>[] LOADED = {
        Agent.class, ColumnMessage.class, Diagnostics.class, DisplayNames.class, Figures.class, Header.class, HeapCheck.class, Json.class,
        LoaderName.class, Method.class, Methods.class, Pprof.class, Pprof.Gzip.class, ProtobufWriter.class, SelfTimeEstimator.class,
        StringTable.class, Symbols.class, ThreadNodes.class, WeakKey.class,
    };

    private final ProfileFile target;

    ExitHook(Settings settings, int tracker) {
        target = new ProfileFile(settings.file, settings.append, tracker);
    }

    /** One at a time: the program may ask for a profile, too. */
    @Override
    public synchronized void run() {
        try {
            target.write();
        } catch (Throwable error) {
            Diagnostics.failure("no profile: " + target, error);
        }
    }
}
