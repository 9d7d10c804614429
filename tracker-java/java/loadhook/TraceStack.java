package loadhook;

/** The stack of a traced call. The JVM records it fast, and looks up the names in it only when they are read. */
final class TraceStack extends Throwable {
    private static final long serialVersionUID = 1;

    TraceStack() {
        super(null, null, false, true);
    }
}
