package loadhook;

import java.io.IOException;

/**
 * A message that ends with columns of numbers. Each number is read twice, for its length and for its bytes, so
 * that the bytes of a column need not be in memory.
 */
abstract class ColumnMessage {
    /** Returns the number of rows. */
    abstract int rows();

    /** Returns the number in a row of a field's column. */
    abstract long value(int field, int row);

    /**
     * Writes a message: first the content of {@code before}, then the columns of the fields {@code
     * first} to {@code last}.
     */
    final void write(ProtobufWriter out, int field, ProtobufWriter before, int first, int last) throws IOException {
        long[] sizes = new long[last + 1];
        long whole = before.length();
        for (int column = first; column <= last; column++) {
            for (int row = 0; row < rows(); row++) {
                sizes[column] += ProtobufWriter.size(value(column, row));
            }
            whole += ProtobufWriter.sizeOfField(column, sizes[column]);
        }
        out.begin(field, whole);
        out.append(before);
        for (int column = first; column <= last; column++) {
            out.begin(column, sizes[column]);
            for (int row = 0; row < rows(); row++) {
                out.varint(value(column, row));
            }
        }
    }
}
