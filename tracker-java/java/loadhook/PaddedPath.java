package loadhook;

/**
 * The path of a platform thread: the next object in the heap, which may be another thread's path, lies not in our cache
 * line. A virtual thread does without: there are too many.
 */
final class PaddedPath extends Path {
    long pad0;
    long pad1;
    long pad2;
    long pad3;
    long pad4;
    long pad5;
    long pad6;
    long pad7;

    PaddedPath(int mode, int nodes, int frames, long seed) {
        super(mode, nodes, frames, seed);
    }
}
