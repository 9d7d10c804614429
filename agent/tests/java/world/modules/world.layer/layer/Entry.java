package layer;

import lib.Library;

/** A class in a layer above the boot layer. */
public final class Entry implements Runnable {
    public void run() {
        for (int i = 0; i < 5; i++) {
            Library.call();
        }
    }
}
