package loadhook;

/** The stack of a traced call. The JVM notes it fast, and finds its names when they are asked for. */
final class TraceStack extends Throwable {
    private static final long serialVersionUID = 1;

    TraceStack() {
        super(null, null, false, true);
    }
}
