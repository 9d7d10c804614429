// javac 17 flags: -g
/** An empty finalize, for which the JVM registers no finalizer. This must stay so. */
public class FinalizeEmpty {
    @Override
    protected void finalize() {
    }

    public static Object run() throws Exception {
        new FinalizeEmpty().finalize();
        return "ran";
    }
}
