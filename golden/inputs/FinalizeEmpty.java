// javac 17 flags: -g
/** An empty finalize: the JVM registers no finalizer. With probes it would. */
public class FinalizeEmpty {
    @Override
    protected void finalize() {
    }

    public static Object run() throws Exception {
        new FinalizeEmpty().finalize();
        return "ran";
    }
}
