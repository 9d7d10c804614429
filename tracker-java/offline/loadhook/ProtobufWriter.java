package loadhook;

import java.io.IOException;
import java.io.OutputStream;

/**
 * Writes the part of the protobuf wire format that pprof needs, into a buffer. When the buffer is full, it is
 * written to the stream, if there is one.
 */
final class ProtobufWriter {
    private static final int PIECE = 1 << 16;

    private final OutputStream sink;
    private byte[] bytes;
    private int length;

    /** Makes a writer for a message that will be a field of another message. */
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

    /** Returns the number of bytes of a number as a varint. */
    static int size(long value) {
        return value == 0 ? 1 : (70 - Long.numberOfLeadingZeros(value)) / 7;
    }

    /** Writes a number. 0 is not written, because it is the default. */
    void number(int field, long value) throws IOException {
        if (value != 0) {
            varint(field << 3);
            varint(value);
        }
    }

    /**
     * Writes the beginning of a field that contains {@code length} bytes of text or of a message.
     */
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

    /** Writes a message as a field, and empties the message. */
    void message(int field, ProtobufWriter message) throws IOException {
        begin(field, message.length);
        append(message);
    }

    /** Writes the content of a message, and empties the message. */
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
