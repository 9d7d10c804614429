package loadhook;

/** A copy of a path's frames. The thread may keep running while the copy is made. */
final class Frames {
    final int depth;
    final int[] nodes;
    final int[] callers;
    /** For each frame, the last tick before its beginning. */
    final int[] began;
    /** The starts and weights of timed frames; 0 for untimed frames. */
    final long[] starts;
    final int[] weights;
    private final int tick = Ticker.last();
    /** The number of frames that add time: timed frames, and frames during which a tick came. */
    int told;

    Frames(Path path) {
        long[] back = path.back;
        long[] stamps = path.stamps;
        // The thread may replace its arrays by longer ones, one after the other.
        byte[] drawn = path.weights;
        int shortest = Math.min(back.length, stamps.length);
        if (drawn.length != 0) {
            shortest = Math.min(shortest, drawn.length);
        }
        depth = Math.max(0, Math.min(path.depth, shortest - 1));
        nodes = new int[depth];
        callers = new int[depth];
        began = new int[depth];
        starts = new long[depth];
        weights = new int[depth];
        int caller = Tree.ROOT;
        for (int frame = 0; frame < depth; frame++) {
            long word = back[frame + 1];
            callers[frame] = caller;
            caller = Path.node(word);
            nodes[frame] = caller;
            began[frame] = Path.began(word);
            weights[frame] = Path.isTimed(word) && caller != path.overflow ? weight(drawn, frame + 1) : 0;
            if (weights[frame] != 0) {
                starts[frame] = stamps[frame + 1];
            }
            told += tells(frame) ? 1 : 0;
        }
    }

    /** Returns the weight of a timed frame. Paths without an array of weights time every call, so the weight is 1. */
    private static int weight(byte[] drawn, int frame) {
        return drawn.length == 0 ? 1 : drawn[frame] & 0xFF;
    }

    /** Returns whether a frame adds time. */
    boolean tells(int frame) {
        return weights[frame] != 0 || began[frame] != 0 && began[frame] != tick;
    }

    /** Returns the number of frames, from the outermost on, that are the same in both copies. */
    int agree(Frames other) {
        int most = Math.min(depth, other.depth);
        int same = 0;
        while (same < most && nodes[same] == other.nodes[same] && callers[same] == other.callers[same]
                && began[same] == other.began[same] && starts[same] == other.starts[same] && weights[same] == other.weights[same]) {
            same++;
        }
        return same;
    }
}
