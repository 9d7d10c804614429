package loadhook;

/** Writes the profile when the JVM ends. What goes wrong is told and changes nothing for the program. */
final class Exit implements Runnable {
    /** What it needs, loaded when it is made: at the end the loader may be closed. */
    static final Class<?>[] LOADED = {
        Agent.class, Columns.class, Figures.class, Header.class, Json.class, Loader.class, Method.class, Methods.class, Names.class,
        Nodes.class, Pprof.class, Pprof.Gzip.class, Room.class, Settling.class, Strings.class, Symbols.class, Tell.class, Weak.class, Wire.class,
    };

    private final Target target;

    Exit(Settings settings, int tracker) {
        target = new Target(settings.file, settings.append, tracker);
    }

    /** One at a time: the program may ask for a profile, too. */
    @Override
    public synchronized void run() {
        try {
            target.write();
        } catch (Throwable error) {
            Tell.failure("no profile: " + target, error);
        }
    }
}
