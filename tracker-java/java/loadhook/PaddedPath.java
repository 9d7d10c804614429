package loadhook;

/**
 * The path of a platform thread. Padding at its end keeps the next object in the heap, which may be the path of
 * another thread, out of its cache line. The paths of virtual threads have no padding, because there are too many
 * of them.
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
