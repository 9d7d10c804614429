package loadhook;

/** The sum of the virtual threads' trees for one snapshot. It has no more nodes than they, who have taken theirs. */
final class Sum extends Tree {
    Sum() {
        super(Timing.COUNT, 32);
    }

    @Override
    boolean takesNode() {
        return true;
    }
}
