import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Checks that the offsets in every table of a Code attribute are offsets of instructions.
 *
 * A verifier checks only branches, handlers and frames. A line table or a type annotation that points into the
 * middle of an instruction makes a debugger wrong without any error, so this class checks these too.
 */
final class CodeTables {
    /** A defect. {@code kind} does not depend on offsets, so that the same defect can be found in the original. */
    record Defect(String method, String kind, String detail) {
        String place() {
            return method + " " + kind;
        }
    }

    private final ClassBytes bytes;
    private final ClassBytes.Code code;
    private final Instructions instructions;
    private final List<Defect> defects;

    private CodeTables(ClassBytes bytes, ClassBytes.Code code, List<Defect> defects) {
        this.bytes = bytes;
        this.code = code;
        this.instructions = new Instructions(bytes, code);
        this.defects = defects;
    }

    /** Returns all defects of a class's tables. */
    static List<Defect> check(ClassBytes bytes) {
        List<Defect> defects = new ArrayList<>();
        for (ClassBytes.Code code : bytes.codes) {
            try {
                new CodeTables(bytes, code, defects).check();
            } catch (ClassBytes.Malformed e) {
                defects.add(new Defect(code.method(), "Code", e.getMessage()));
            }
        }
        return defects;
    }

    /**
     * Returns the defects of {@code now} that {@code before} does not have. Defects are compared by
     * their numbers, for each method and kind.
     */
    static List<Defect> added(List<Defect> now, List<Defect> before) {
        Map<String, Integer> allowed = new HashMap<>();
        for (Defect defect : before) {
            allowed.merge(defect.place(), 1, Integer::sum);
        }
        List<Defect> added = new ArrayList<>();
        for (Defect defect : now) {
            if (allowed.merge(defect.place(), -1, Integer::sum) < 0) {
                added.add(defect);
            }
        }
        return added;
    }

    private void check() {
        String stray = instructions.firstStrayJump();
        require(stray == null, "jump", stray);
        exceptionTable();
        for (ClassBytes.Attribute attribute : code.attributes()) {
            try {
                int end = switch (attribute.name()) {
                    case "LineNumberTable" -> lineNumbers(attribute);
                    case "LocalVariableTable", "LocalVariableTypeTable" -> localVariables(attribute);
                    case "StackMapTable" -> stackMapTable(attribute);
                    case "StackMap" -> cldcStackMap(attribute);
                    case "RuntimeVisibleTypeAnnotations", "RuntimeInvisibleTypeAnnotations" -> typeAnnotations(attribute);
                    default -> attribute.end();
                };
                require(end == attribute.end(), attribute.name(), "does not have its stated length");
            } catch (ClassBytes.Malformed e) {
                // Below version 50 no JVM reads a StackMapTable, and old jars have stale ones.
                defects.add(new Defect(code.method(), attribute.name(), e.getMessage()));
            }
        }
    }

    private void require(boolean holds, String kind, String detail) {
        if (!holds) {
            defects.add(new Defect(code.method(), kind, detail));
        }
    }

    private void requireInstruction(int bci, String kind, String what) {
        require(instructions.begins(bci), kind, what + " " + bci + " is no instruction");
    }

    private void exceptionTable() {
        String kind = "exception_table";
        for (int i = 0; i < code.exceptionCount(); i++) {
            int at = code.exceptionTable() + 8 * i;
            int start = bytes.u2(at);
            int end = bytes.u2(at + 2);
            requireInstruction(start, kind, "start_pc");
            require(instructions.ends(end) && end > start, kind, "end_pc " + end + " of start_pc " + start);
            requireInstruction(bytes.u2(at + 4), kind, "handler_pc");
        }
    }

    private int lineNumbers(ClassBytes.Attribute table) {
        int count = bytes.u2(table.start());
        for (int i = 0; i < count; i++) {
            requireInstruction(bytes.u2(table.start() + 2 + 4 * i), table.name(), "start_pc");
        }
        return table.start() + 2 + 4 * count;
    }

    private int localVariables(ClassBytes.Attribute table) {
        int count = bytes.u2(table.start());
        for (int i = 0; i < count; i++) {
            range(table.start() + 2 + 10 * i, table.name());
        }
        return table.start() + 2 + 10 * count;
    }

    /** Checks a pair of {@code start_pc} and {@code length}. An empty range may be at the end of the code. */
    private void range(int at, String kind) {
        int start = bytes.u2(at);
        int end = start + bytes.u2(at + 2);
        require(start == end ? instructions.ends(start) : instructions.begins(start), kind, "start_pc " + start + " is no instruction");
        require(instructions.ends(end), kind, "start_pc " + start + " + length ends at " + end + ", no instruction");
    }

    /** Checks frames. Offsets are stored as deltas; after the first frame, each distance is delta + 1 (JVMS §4.7.4). */
    private int stackMapTable(ClassBytes.Attribute table) {
        int count = bytes.u2(table.start());
        int at = table.start() + 2;
        int bci = -1;
        for (int i = 0; i < count; i++) {
            int type = bytes.u1(at++);
            if (type < 64) {
                bci += type + 1;
            } else if (type < 128) {
                bci += type - 64 + 1;
                at = verificationTypes(at, 1, table.name());
            } else if (type < 247) {
                throw new ClassBytes.Malformed("frame_type " + type);
            } else {
                bci += bytes.u2(at) + 1;
                at += 2;
                if (type == 247) {
                    at = verificationTypes(at, 1, table.name());
                } else if (type > 251 && type < 255) {
                    at = verificationTypes(at, type - 251, table.name());
                } else if (type == 255) {
                    at = verificationTypes(at + 2, bytes.u2(at), table.name());
                    at = verificationTypes(at + 2, bytes.u2(at), table.name());
                }
            }
            requireInstruction(bci, table.name(), "the frame at");
        }
        return at;
    }

    /** Checks the CLDC's stack maps: full frames with absolute offsets (CLDC 1.1, appendix 1). */
    private int cldcStackMap(ClassBytes.Attribute table) {
        int count = bytes.u2(table.start());
        int at = table.start() + 2;
        for (int i = 0; i < count; i++) {
            requireInstruction(bytes.u2(at), table.name(), "the frame at");
            at += 2;
            at = verificationTypes(at + 2, bytes.u2(at), table.name());
            at = verificationTypes(at + 2, bytes.u2(at), table.name());
        }
        return at;
    }

    private int verificationTypes(int at, int count, String kind) {
        for (int i = 0; i < count; i++) {
            int tag = bytes.u1(at++);
            if (tag > 8) {
                throw new ClassBytes.Malformed("verification type " + tag);
            }
            if (tag == 8) {
                int bci = bytes.u2(at);
                require(instructions.isNew(bci), kind, "an uninitialized type points at " + bci + ", which is no new");
            }
            at += tag >= 7 ? 2 : 0;
        }
        return at;
    }

    private int typeAnnotations(ClassBytes.Attribute table) {
        return new TypeAnnotations(bytes, table, new TypeAnnotations.Targets() {
            @Override
            public void range(int at) {
                CodeTables.this.range(at, table.name());
            }

            @Override
            public void instruction(int bci) {
                requireInstruction(bci, table.name(), "the target");
            }

            @Override
            public void handler(int index) {
                require(index < code.exceptionCount(), table.name(), "names handler " + index + " of " + code.exceptionCount());
            }
        }).walk();
    }
}
