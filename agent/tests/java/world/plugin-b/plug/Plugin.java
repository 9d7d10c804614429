package plug;

/** Another class of the same name. */
public class Plugin implements Runnable {
    int done;

    static void before() {
        Integer.toString(1);
    }

    public void run() {
        before();
        for (int i = 0; i < 3; i++) {
            step();
        }
    }

    void step() {
        done += 2;
    }
}
