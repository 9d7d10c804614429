package plug;

/** The class that the loaders load. */
public class Plugin implements Runnable {
    int done;

    /** Calls step. */
    public void run() {
        for (int i = 0; i < 10; i++) {
            step();
        }
        Inner.inner(this);
    }

    void step() {
        done++;
    }

    static class Inner {
        static void inner(Plugin plugin) {
            try {
                fail(plugin);
            } catch (IllegalStateException e) {
                plugin.step();
            }
        }

        static void fail(Plugin plugin) {
            if (plugin.done >= 0) {
                throw new IllegalStateException();
            }
        }
    }
}
