package loadhook;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Verifies rewritten classes from standard input, each compared with its original. The argument is the number of
 * threads. Each thread reads the next class when it needs one, so that memory holds one class for each thread.
 *
 * Standard input begins with the class hierarchy: the number of classes (u4), then for each class its name and the
 * name of its superclass, which is empty for an interface (both as DataInput.readUTF reads them). The classes to
 * verify follow. Each is a byte 1, the number of the class (u4), length and bytes of the original (length 0 if there
 * is none), and length and bytes of the rewritten class. A byte 0 ends the input. Standard output has a line for each
 * faulty class: its number and the first messages, separated by tabs. The last line is {@code done}, the number of
 * classes that were verified, and the number of those that were not, because their version is below 50.
 */
public final class VerifyClasses implements Runnable {
    /**
     * The maximum number of messages for a class. Further messages would only repeat these, because a fault also
     * shows at every later instruction.
     */
    private static final int MESSAGES = 4;

    /** The parts of a message that differ in original and rewritten class for the same fault: offsets, indexes. */
    private static final Pattern PLACE = Pattern.compile("[0-9]+|\n.*", Pattern.DOTALL);

    private final DataInputStream in;
    private final PrintStream out;
    private final ClassFileVerifier verifier;
    private boolean ended;
    private int judged;
    private int old;
    private Throwable failure;

    private VerifyClasses(DataInputStream in, PrintStream out) throws IOException {
        this.in = in;
        this.out = out;
        Map<String, String> superclasses = new HashMap<>();
        for (int left = in.readInt(); left > 0; left--) {
            String name = in.readUTF();
            String superclass = in.readUTF();
            superclasses.put(name, superclass.isEmpty() ? null : superclass);
        }
        verifier = new ClassFileVerifier(superclasses);
        // The JDK fills its names of types at the first fault, without a lock. So make a fault before several
        // threads share them. Otherwise a message may have a number instead of a name, and differ from the
        // original's.
        if (verifier.verify(faultyClass()).isEmpty()) {
            throw new IllegalStateException("the verifier accepts a class with a fault");
        }
    }

    /**
     * Returns {@code class A { static int f() }} with the code {@code fconst_0, ireturn}, which returns a float
     * as an int.
     */
    private static byte[] faultyClass() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream file = new DataOutputStream(bytes);
        file.writeInt(0xcafebabe);
        file.writeInt(52);
        String[] names = {"A", "java/lang/Object", "f", "()I", "Code"};
        file.writeShort(names.length + 3);
        for (String name : names) {
            file.writeByte(1);
            file.writeUTF(name);
        }
        // The classes A and Object are the constants 6 and 7.
        for (int name = 1; name <= 2; name++) {
            file.writeByte(7);
            file.writeShort(name);
        }
        // Flags, class, superclass; no interfaces, no fields, one method: flags, name, descriptor, one attribute.
        for (int value : new int[] {0x21, 6, 7, 0, 0, 1, 0x9, 3, 4, 1}) {
            file.writeShort(value);
        }
        // The attribute Code: max_stack and max_locals, the instructions, no handlers, no attributes.
        file.writeShort(5);
        file.writeInt(14);
        file.writeInt(0x10000);
        file.writeInt(2);
        file.writeShort(0x0bac);
        file.writeInt(0);
        // The class has no attributes.
        file.writeShort(0);
        return bytes.toByteArray();
    }

    public static void main(String[] args) throws Exception {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 16));
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        VerifyClasses judge = new VerifyClasses(in, out);
        Thread[] threads = new Thread[Integer.parseInt(args[0])];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(judge);
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (judge.failure != null) {
            throw new IllegalStateException(judge.failure);
        }
        out.print("done\t" + judge.judged + "\t" + judge.old + "\n");
        out.flush();
    }

    @Override
    public void run() {
        try {
            judge();
        } catch (Throwable e) {
            synchronized (in) {
                failure = e;
                ended = true;
            }
        }
    }

    private void judge() throws IOException {
        for (;;) {
            int number;
            byte[] before;
            byte[] after;
            synchronized (in) {
                if (ended || in.readByte() == 0) {
                    ended = true;
                    return;
                }
                number = in.readInt();
                before = bytes();
                after = bytes();
                if (ClassFileVerifier.judges(after)) {
                    judged++;
                } else {
                    old++;
                    continue;
                }
            }
            List<String> faults = faults(before, after);
            if (!faults.isEmpty()) {
                synchronized (out) {
                    out.print(line(number, faults));
                }
            }
        }
    }

    private byte[] bytes() throws IOException {
        byte[] bytes = new byte[in.readInt()];
        in.readFully(bytes);
        return bytes;
    }

    /** Returns the faults of the rewritten class that its original did not have. */
    private List<String> faults(byte[] before, byte[] after) {
        List<String> faults = new ArrayList<>(verifier.verify(after));
        if (faults.isEmpty() || before.length == 0) {
            return faults;
        }
        List<String> known = new ArrayList<>();
        for (String message : verifier.verify(before)) {
            known.add(gist(message));
        }
        List<String> added = new ArrayList<>();
        for (String message : faults) {
            if (!known.remove(gist(message))) {
                added.add(message);
            }
        }
        return added;
    }

    private static String gist(String message) {
        return PLACE.matcher(String.valueOf(message)).replaceAll("");
    }

    private static String line(int number, List<String> faults) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < faults.size() && i < MESSAGES; i++) {
            text.append(i == 0 ? "" : "; ").append(faults.get(i));
        }
        if (faults.size() > MESSAGES) {
            text.append("; … and ").append(faults.size() - MESSAGES).append(" more");
        }
        return number + "\t" + text.toString().replaceAll("\\s+", " ") + "\n";
    }
}
