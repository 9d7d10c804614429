package plug;

/** A class with the same name as the class in {@code plugin-a}. */
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
