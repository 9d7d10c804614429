// javac 17 flags: -g
/** finalize methods that do something: one calls super. */
public class FinalizeNonEmpty {
    int runs;

    @Override
    protected void finalize() throws Throwable {
        try {
            runs++;
        } finally {
            super.finalize();
        }
    }

    public static Object run() throws Throwable {
        FinalizeNonEmpty one = new FinalizeNonEmpty();
        one.finalize();
        return one.runs;
    }
}
