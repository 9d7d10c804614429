package loadhook;

import java.io.IOException;
import java.io.OutputStream;

/** As much of the protobuf wire format as pprof needs: a buffer that goes to a stream, if it has one, when it is full. */
final class ProtobufWriter {
    private static final int PIECE = 1 << 16;

    private final OutputStream sink;
    private byte[] bytes;
    private int length;

    /** Of a message that is to be a field of another one. */
    ProtobufWriter() {
        this(null, 256);
    }

    ProtobufWriter(OutputStream sink) {
        this(sink, PIECE);
    }

    private ProtobufWriter(OutputStream sink, int room) {
        this.sink = sink;
        bytes = new byte[room];
    }

    int length() {
        return length;
    }

    void varint(long value) throws IOException {
        room(10);
        long rest = value;
        while ((rest & ~0x7FL) != 0) {
            bytes[length++] = (byte) (rest | 0x80);
            rest >>>= 7;
        }
        bytes[length++] = (byte) rest;
    }

    /** How many bytes a number takes. */
    static int size(long value) {
        return value == 0 ? 1 : (70 - Long.numberOfLeadingZeros(value)) / 7;
    }

    /** A number; 0 is the default and not written. */
    void number(int field, long value) throws IOException {
        if (value != 0) {
            varint(field << 3);
            varint(value);
        }
    }

    /** The beginning of text or a message; so many bytes follow. */
    void begin(int field, long length) throws IOException {
        varint(field << 3 | 2);
        varint(length);
    }

    static long sizeOfField(int field, long length) {
        return size(field << 3 | 2) + size(length) + length;
    }

    void text(int field, byte[] text) throws IOException {
        begin(field, text.length);
        append(text, text.length);
    }

    /** A message, which is empty then. */
    void message(int field, ProtobufWriter message) throws IOException {
        begin(field, message.length);
        append(message);
    }

    /** What is in a message, which is empty then. */
    void append(ProtobufWriter message) throws IOException {
        append(message.bytes, message.length);
        message.length = 0;
    }

    private void append(byte[] from, int count) throws IOException {
        room(count);
        System.arraycopy(from, 0, bytes, length, count);
        length += count;
    }

    void flush() throws IOException {
        sink.write(bytes, 0, length);
        length = 0;
    }

    private void room(int more) throws IOException {
        if (more > bytes.length - length && sink != null) {
            flush();
        }
        if (more > bytes.length - length) {
            byte[] longer = new byte[Math.max(2 * bytes.length, length + more)];
            System.arraycopy(bytes, 0, longer, 0, length);
            bytes = longer;
        }
    }
}
