import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * A class file (JVMS §4.1), parsed as far as needed to find every Code attribute and its tables.
 *
 * Independent of the rewriter and of {@code java.lang.classfile}, so that it finds faults that both
 * overlook. Bytes that do not parse cause a {@link Malformed}.
 */
final class ClassBytes {
    /** The fault of bytes that are no class file. */
    static final class Malformed extends RuntimeException {
        private static final long serialVersionUID = 1L;

        Malformed(String message) {
            super(message);
        }
    }

    /** An attribute (JVMS §4.7), with the position of its {@code info} in the class file. */
    record Attribute(String name, int start, int length) {
        int end() {
            return start + length;
        }
    }

    /** A Code attribute (JVMS §4.7.3). {@code exceptionTable} is the position of its first entry. */
    record Code(String method, int codeStart, int codeLength, int exceptionTable, int exceptionCount, List<Attribute> attributes) {}

    private static final int ACC_MODULE = 0x8000;

    private final byte[] bytes;
    private final int[] pool;
    private int position;

    final int majorVersion;
    final int accessFlags;
    final String thisClass;
    /** Null for {@code java.lang.Object} and for a module-info. */
    final String superClass;
    final List<Code> codes = new ArrayList<>();

    ClassBytes(byte[] bytes) {
        this.bytes = bytes;
        if (u4(0) != 0xCAFEBABE) {
            throw new Malformed("no magic number");
        }
        majorVersion = u2(6);
        pool = new int[u2(8)];
        position = 10;
        readPool();
        accessFlags = next2();
        thisClass = className(next2());
        int superIndex = next2();
        superClass = superIndex == 0 ? null : className(superIndex);
        int interfaceCount = next2();
        position += 2 * interfaceCount;
        readMembers(false);
        readMembers(true);
        readAttributes(null);
        if (position != bytes.length) {
            throw new Malformed((bytes.length - position) + " bytes after the end of the class");
        }
    }

    /** Returns whether this is a module-info, which cannot be linked and has no subclasses. */
    boolean isModule() {
        return (accessFlags & ACC_MODULE) != 0;
    }

    int u1(int at) {
        if (at < 0 || at >= bytes.length) {
            throw new Malformed("the class ends before offset " + at);
        }
        return bytes[at] & 0xFF;
    }

    int s1(int at) {
        return (byte) u1(at);
    }

    int u2(int at) {
        return u1(at) << 8 | u1(at + 1);
    }

    int s2(int at) {
        return (short) u2(at);
    }

    /** Reads four bytes as a signed number. Callers that need an unsigned number reject negative values. */
    int u4(int at) {
        return u2(at) << 16 | u2(at + 2);
    }

    private int next2() {
        int value = u2(position);
        position += 2;
        return value;
    }

    private int nextLength() {
        int value = u4(position);
        position += 4;
        if (value < 0 || value > bytes.length - position) {
            throw new Malformed("an attribute of " + Integer.toUnsignedString(value) + " bytes exceeds the end of the class");
        }
        return value;
    }

    private void readPool() {
        for (int index = 1; index < pool.length; index++) {
            pool[index] = position;
            int tag = u1(position);
            switch (tag) {
                case 1 -> position += 3 + u2(position + 1);
                case 3, 4, 9, 10, 11, 12, 17, 18 -> position += 5;
                case 5, 6 -> {
                    position += 9;
                    index++;
                }
                case 7, 8, 16, 19, 20 -> position += 3;
                case 15 -> position += 4;
                default -> throw new Malformed("constant #" + index + " has tag " + tag);
            }
        }
    }

    private int entry(int index, int tag) {
        if (index <= 0 || index >= pool.length || pool[index] == 0 || u1(pool[index]) != tag) {
            throw new Malformed("constant #" + index + " is not of tag " + tag);
        }
        return pool[index];
    }

    /** Reads a Utf8 constant. Surrogates in modified UTF-8 are lost, since the text is only used in messages. */
    private String utf8(int index) {
        int at = entry(index, 1);
        int length = u2(at + 1);
        u1(at + 2 + length);
        return new String(bytes, at + 3, length, StandardCharsets.UTF_8);
    }

    private String className(int index) {
        return utf8(u2(entry(index, 7) + 1));
    }

    private void readMembers(boolean methods) {
        int count = next2();
        for (int i = 0; i < count; i++) {
            position += 2;
            String name = utf8(next2());
            String descriptor = utf8(next2());
            readAttributes(methods ? name + descriptor : null);
        }
    }

    /**
     * Reads a table of attributes. {@code method} is the name of the method that has the
     * attributes, or null. If it is not null, each {@code Code} is kept.
     */
    private List<Attribute> readAttributes(String method) {
        int count = next2();
        List<Attribute> attributes = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            String name = utf8(next2());
            int length = nextLength();
            int end = position + length;
            if (method != null && name.equals("Code")) {
                readCode(method);
                if (position != end) {
                    throw new Malformed("the Code of " + method + " does not have its stated length");
                }
            } else {
                attributes.add(new Attribute(name, position, length));
                position = end;
            }
        }
        return attributes;
    }

    private void readCode(String method) {
        position += 4;
        int codeLength = nextLength();
        int codeStart = position;
        position += codeLength;
        int exceptionCount = next2();
        int exceptionTable = position;
        position += 8 * exceptionCount;
        List<Attribute> attributes = readAttributes(null);
        codes.add(new Code(method, codeStart, codeLength, exceptionTable, exceptionCount, attributes));
    }
}
