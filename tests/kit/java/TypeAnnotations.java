/** Reads type annotations (JVMS §4.7.20) of a Code attribute, for the offsets in them. */
final class TypeAnnotations {
    /** Receives the targets that have offsets or indexes in the code. */
    interface Targets {
        /** A local variable's range: {@code start_pc} and {@code length} are at this offset of the class file. */
        void range(int at);

        /** An instruction's offset in the code. */
        void instruction(int bci);

        /** An index into the exception table. */
        void handler(int index);
    }

    private final ClassBytes bytes;
    private final Targets targets;
    private int at;

    TypeAnnotations(ClassBytes bytes, ClassBytes.Attribute table, Targets targets) {
        this.bytes = bytes;
        this.targets = targets;
        this.at = table.start();
    }

    /** Returns the offset after the table. */
    int walk() {
        int count = next2();
        for (int i = 0; i < count; i++) {
            target();
            at += 1 + 2 * bytes.u1(at); // type_path
            annotation();
        }
        return at;
    }

    private void target() {
        int type = bytes.u1(at++);
        switch (type) {
            case 0x00, 0x01, 0x16 -> at += 1;
            case 0x10, 0x11, 0x12, 0x17 -> at += 2;
            case 0x13, 0x14, 0x15 -> { }
            case 0x40, 0x41 -> {
                int ranges = next2();
                for (int i = 0; i < ranges; i++) {
                    targets.range(at);
                    at += 6;
                }
            }
            case 0x42 -> targets.handler(next2());
            case 0x43, 0x44, 0x45, 0x46 -> targets.instruction(next2());
            case 0x47, 0x48, 0x49, 0x4A, 0x4B -> {
                targets.instruction(next2());
                at += 1;
            }
            default -> throw new ClassBytes.Malformed("target_type " + type);
        }
    }

    private void annotation() {
        at += 2;
        int pairs = next2();
        for (int i = 0; i < pairs; i++) {
            at += 2;
            elementValue();
        }
    }

    private void elementValue() {
        int tag = bytes.u1(at++);
        switch (tag) {
            case 'e' -> at += 4;
            case '@' -> annotation();
            case '[' -> {
                int values = next2();
                for (int i = 0; i < values; i++) {
                    elementValue();
                }
            }
            default -> at += 2;
        }
    }

    private int next2() {
        int value = bytes.u2(at);
        at += 2;
        return value;
    }
}
