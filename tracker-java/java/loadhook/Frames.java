package loadhook;

/** A copy of the frames of a path, whose thread may go on while it is made. */
final class Frames {
    final int depth;
    final int[] nodes;
    final int[] callers;
    /** As in the path's stamps; of an untimed frame 0. */
    final long[] starts;
    final long[] weights;
    int timed;

    Frames(Path path) {
        int current = path.current;
        int[] back = path.back;
        long[] stamps = path.stamps;
        depth = Math.min(path.depth, back.length);
        nodes = new int[depth];
        callers = new int[depth];
        starts = new long[depth];
        weights = new long[depth];
        int stamp = 0;
        for (int frame = 0; frame < depth; frame++) {
            int to = back[frame];
            if (to < 0) {
                to = ~to;
                if (stamp + 2 <= stamps.length) {
                    starts[frame] = stamps[stamp];
                    weights[frame] = stamps[stamp + 1];
                    timed += weights[frame] == 0 ? 0 : 1;
                }
                stamp += 2;
            }
            callers[frame] = to;
            if (frame > 0) {
                nodes[frame - 1] = to;
            }
        }
        if (depth > 0) {
            nodes[depth - 1] = current;
        }
    }

    /** How many frames from the outermost on are the same. */
    int agree(Frames other) {
        int most = Math.min(depth, other.depth);
        int same = 0;
        while (same < most && nodes[same] == other.nodes[same] && callers[same] == other.callers[same]
                && starts[same] == other.starts[same] && weights[same] == other.weights[same]) {
            same++;
        }
        return same;
    }
}
