package lib;

import java.util.function.IntUnaryOperator;

/** A library that other jars call. */
public final class Library {
    private Library() {
    }

    public static int twice(int i, IntUnaryOperator operator) {
        return operator.applyAsInt(operator.applyAsInt(i));
    }
}
