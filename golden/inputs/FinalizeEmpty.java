// javac 17 flags: -g
/** An empty finalize: the VM makes no finalizer of it, and must not. */
public class FinalizeEmpty {
    @Override
    protected void finalize() {
    }

    public static Object run() throws Exception {
        new FinalizeEmpty().finalize();
        return "ran";
    }
}
