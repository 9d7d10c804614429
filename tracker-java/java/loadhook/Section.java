package loadhook;

/** One thread or group of a snapshot. */
final class Section {
    static final int LIVE = 0;
    static final int VIRTUAL = 1;
    static final int ENDED = 2;

    private static final int MOST_NAME = 1000;

    final int kind;
    final long id;
    final String name;
    final TimedTree tree;
    /** The {@link CpuTime} of the thread or group. */
    final long cpu;

    Section(int kind, long id, String name, TimedTree tree, long cpu) {
        this.kind = kind;
        this.id = id;
        this.name = name;
        this.tree = tree;
        this.cpu = cpu;
    }

    TreeReader read() {
        return kind == LIVE ? TreeReader.of((Path) tree) : new TreeReader(tree);
    }

    /** Writes the name in UTF-8 and returns the number of bytes, which is at most three for each char. */
    int utf8(byte[] bytes) {
        int length = 0;
        for (int at = 0; at < name.length() && at < MOST_NAME; at++) {
            int c = name.charAt(at);
            if (c >= 0xD800 && c < 0xDC00 && at + 1 < name.length() && isLow(name.charAt(at + 1))) {
                c = 0x10000 + (c - 0xD800 << 10) + name.charAt(++at) - 0xDC00;
                bytes[length++] = (byte) (0xF0 | c >> 18);
                bytes[length++] = (byte) (0x80 | c >> 12 & 0x3F);
                bytes[length++] = (byte) (0x80 | c >> 6 & 0x3F);
            } else if (c >= 0xD800 && c < 0xE000) {
                c = '?';
            } else if (c >= 0x800) {
                bytes[length++] = (byte) (0xE0 | c >> 12);
                bytes[length++] = (byte) (0x80 | c >> 6 & 0x3F);
            } else if (c >= 0x80) {
                bytes[length++] = (byte) (0xC0 | c >> 6);
            }
            bytes[length++] = (byte) (c < 0x80 ? c : 0x80 | c & 0x3F);
        }
        return length;
    }

    static byte[] nameBuffer() {
        return new byte[3 * MOST_NAME + 4];
    }

    private static boolean isLow(char c) {
        return c >= 0xDC00 && c < 0xE000;
    }
}
