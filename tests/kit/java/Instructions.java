import java.util.BitSet;

/** The instructions of one Code attribute: their offsets and jump targets (JVMS §6.5). */
final class Instructions {
    private static final int TABLESWITCH = 0xAA;
    private static final int LOOKUPSWITCH = 0xAB;
    private static final int WIDE = 0xC4;
    private static final int NEW = 0xBB;

    /**
     * Length of each instruction, one digit per opcode from 0x00 on; 0 stands for a varying length
     * ({@code tableswitch}, {@code lookupswitch}, {@code wide}).
     */
    private static final String LENGTHS =
            "1111111111111111" // 00 constants
            + "2323322222111111" // 10 bipush, sipush, ldc*, loads by index
            + "1111111111111111" // 20
            + "1111112222211111" // 30 stores by index from 36
            + "1111111111111111" // 40
            + "1111111111111111" // 50
            + "1111111111111111" // 60
            + "1111111111111111" // 70
            + "1111311111111111" // 80 iinc at 84
            + "1111111113333333" // 90 if<cond> from 99
            + "3333333332001111" // A0 ..goto, jsr, ret, switches, returns
            + "1133333335532311" // B0 fields, calls, new, newarray, anewarray
            + "33110433" // C0 ..wide, multianewarray, ifnull, ifnonnull
            + "55"; // C8 goto_w, jsr_w

    private final ClassBytes bytes;
    private final int start;
    private final int length;
    private final BitSet boundaries;

    Instructions(ClassBytes bytes, ClassBytes.Code code) {
        this.bytes = bytes;
        this.start = code.codeStart();
        this.length = code.codeLength();
        this.boundaries = new BitSet(length);
        int bci = 0;
        while (bci < length) {
            boundaries.set(bci);
            bci += lengthAt(bci);
        }
        if (bci != length) {
            throw new ClassBytes.Malformed("the last instruction of " + code.method() + " exceeds the end of its code");
        }
    }

    /** Returns whether an instruction begins here. */
    boolean begins(int bci) {
        return bci >= 0 && bci < length && boundaries.get(bci);
    }

    /** Returns whether a range may end here: an instruction begins here, or the code ends. */
    boolean ends(int bci) {
        return bci == length || begins(bci);
    }

    /** Returns whether a {@code new} begins here, as an uninitialized verification type requires. */
    boolean isNew(int bci) {
        return begins(bci) && bytes.u1(start + bci) == NEW;
    }

    /** Returns a message about the first jump that does not lead to an instruction; null if there is none. */
    String firstStrayJump() {
        for (int bci = boundaries.nextSetBit(0); bci >= 0; bci = boundaries.nextSetBit(bci + 1)) {
            String stray = strayAt(bci);
            if (stray != null) {
                return stray;
            }
        }
        return null;
    }

    private String strayAt(int bci) {
        int at = start + bci;
        int opcode = bytes.u1(at);
        if (opcode >= 0x99 && opcode <= 0xA8 || opcode == 0xC6 || opcode == 0xC7) {
            return stray(bci, bytes.s2(at + 1));
        }
        if (opcode == 0xC8 || opcode == 0xC9) {
            return stray(bci, bytes.u4(at + 1));
        }
        if (opcode == TABLESWITCH || opcode == LOOKUPSWITCH) {
            int operands = at + padded(bci);
            String stray = stray(bci, bytes.u4(operands)); // the default
            // tableswitch: default, low, high, offsets. lookupswitch: default, npairs, (match, offset) pairs.
            int step = opcode == TABLESWITCH ? 4 : 8;
            int end = at + lengthAt(bci);
            for (int p = operands + 12; stray == null && p < end; p += step) {
                stray = stray(bci, bytes.u4(p));
            }
            return stray;
        }
        return null;
    }

    private String stray(int bci, int offset) {
        return begins(bci + offset) ? null : "the jump at " + bci + " leads to " + (bci + offset);
    }

    /** Returns the distance from a switch's opcode to its first operand, which is aligned to four bytes in the code. */
    private static int padded(int bci) {
        return 4 - (bci & 3);
    }

    private int lengthAt(int bci) {
        int at = start + bci;
        int opcode = bytes.u1(at);
        if (opcode >= LENGTHS.length()) {
            throw new ClassBytes.Malformed("opcode " + opcode + " at " + bci);
        }
        int fixed = LENGTHS.charAt(opcode) - '0';
        if (fixed != 0) {
            return fixed;
        }
        if (opcode == WIDE) {
            return bytes.u1(at + 1) == 0x84 ? 6 : 4;
        }
        int operands = at + padded(bci);
        long count = opcode == TABLESWITCH
                ? (long) bytes.u4(operands + 8) - bytes.u4(operands + 4) + 1
                : bytes.u4(operands + 4);
        long total = opcode == TABLESWITCH ? padded(bci) + 12 + 4 * count : padded(bci) + 8 + 8 * count;
        if (count < 0 || total > length - bci) {
            throw new ClassBytes.Malformed("the switch at " + bci + " has " + count + " cases");
        }
        return (int) total;
    }
}
