package layer;

import lib.Library;

/** In a layer above the boot layer. */
public final class Entry implements Runnable {
    public void run() {
        for (int i = 0; i < 5; i++) {
            Library.call();
        }
    }
}
