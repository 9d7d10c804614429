import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodTooLargeException;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * The comparison for the rewriter: ASM inserts entry, exit and catch-any probes, in one thread,
 * with classes in memory.
 *
 * {@code AsmBench DIR PASSES [--out FOLDER] [--leave FILE]}. ASM is used in the fastest way of its API: the writer copies the
 * reader's constant pool, so methods without code are copied, frames stay compressed, and nothing is computed that
 * the class file already has ({@code ClassWriter} flags 0).
 *
 * Differences from Loadhook's rewriter, which make ASM faster: one handler range from the end of
 * the entry probe to the handler, the exit probes inside; a constructor's range begins after its
 * first call of another constructor on {@code this}, found by counting {@code new} against {@code
 * <init>} in the order of the code, and nothing covers what lies before. The methods are the same:
 * every one with code, except those in the {@code --leave} file, one {@code class method
 * descriptor} a line.
 *
 * {@code --out} writes the last pass's classes, so that a verifier can judge them.
 *
 * <pre>
 * javac -cp /usr/share/java/asm.jar -d CLASSES AsmBench.java
 * java -XX:+UseSerialGC -Xmx4g -Xmn2g -cp /usr/share/java/asm.jar:CLASSES AsmBench DIR 40
 * </pre>
 *
 * ASM runs fastest with the serial collector of JDK 17 and a large young generation.
 */
public final class AsmBench {
    private static final String TRACKER = "loadhook/Tracker";

    /**
     * A class in memory, and its methods that get no probes. `leave` is null if every method gets
     * probes, as in nearly all classes.
     */
    private record Input(Path relative, byte[] bytes, Set<String> leave) {}

    private static int nextId;

    private AsmBench() {}

    public static void main(String[] args) throws IOException {
        if (args.length < 2) {
            System.err.println("usage: AsmBench DIR PASSES [--out FOLDER] [--leave FILE]");
            System.exit(2);
        }
        Path out = null;
        Map<String, Set<String>> leave = Map.of();
        for (int i = 2; i + 1 < args.length; i += 2) {
            switch (args[i]) {
                case "--out" -> out = Path.of(args[i + 1]);
                case "--leave" -> leave = readLeave(Path.of(args[i + 1]));
                default -> throw new IllegalArgumentException(args[i]);
            }
        }
        List<Input> inputs = read(Path.of(args[0]), leave);
        byte[][] outputs = measure(inputs, Integer.parseInt(args[1]));
        if (out != null) {
            write(inputs, outputs, out);
        }
    }

    private static Map<String, Set<String>> readLeave(Path file) throws IOException {
        Map<String, Set<String>> leave = new HashMap<>();
        for (String line : Files.readAllLines(file)) {
            String[] words = line.trim().split("\\s+");
            if (words.length == 3) {
                leave.computeIfAbsent(words[0], k -> new HashSet<>()).add(words[1] + words[2]);
            }
        }
        return leave;
    }

    private static List<Input> read(Path root, Map<String, Set<String>> leave) throws IOException {
        List<Path> files;
        try (Stream<Path> all = Files.walk(root)) {
            files = all.filter(p -> p.toString().endsWith(".class") && !p.endsWith("module-info.class"))
                    .sorted().collect(Collectors.toList());
        }
        List<Input> inputs = new ArrayList<>();
        for (Path file : files) {
            byte[] bytes = Files.readAllBytes(file);
            Set<String> ofClass = leave.isEmpty() ? null : leave.get(new ClassReader(bytes).getClassName());
            inputs.add(new Input(root.relativize(file), bytes, ofClass));
        }
        return inputs;
    }

    /** Runs the passes and prints them; returns the classes of the last one. */
    private static byte[][] measure(List<Input> inputs, int passes) {
        double megabytes = inputs.stream().mapToLong(input -> input.bytes.length).sum() / 1e6;
        byte[][] outputs = new byte[inputs.size()][];
        double[] rates = new double[passes];
        double first = 0;
        int tooLarge = 0;
        for (int pass = 0; pass < passes; pass++) {
            nextId = 0;
            tooLarge = 0;
            long start = System.nanoTime();
            for (int i = 0; i < outputs.length; i++) {
                Input input = inputs.get(i);
                try {
                    outputs[i] = rewrite(input);
                } catch (MethodTooLargeException e) {
                    outputs[i] = input.bytes;
                    tooLarge++;
                }
            }
            double seconds = (System.nanoTime() - start) / 1e9;
            first = pass == 0 ? seconds : first;
            rates[pass] = megabytes / seconds;
            System.out.printf(Locale.ROOT, "asm pass %d: %.1f MB/s%n", pass + 1, rates[pass]);
        }
        // The first half of the passes warms up the JIT and is not counted.
        double[] warm = Arrays.copyOfRange(rates, passes / 2, passes);
        Arrays.sort(warm);
        System.out.printf(Locale.ROOT,
                "asm_median_mb_s=%.1f asm_best_mb_s=%.1f asm_first_pass_s=%.3f classes=%d methods=%d too_large=%d%n",
                warm[warm.length / 2], warm[warm.length - 1], first, outputs.length, nextId, tooLarge);
        return outputs;
    }

    private static void write(List<Input> inputs, byte[][] outputs, Path out) throws IOException {
        for (int i = 0; i < outputs.length; i++) {
            Path file = out.resolve(inputs.get(i).relative.toString());
            Files.createDirectories(file.getParent());
            Files.write(file, outputs[i]);
        }
    }

    private static byte[] rewrite(Input input) {
        return rewrite(input.bytes, input.leave);
    }

    /** Rewrites all methods except those in {@code leave}, which may be null. */
    static byte[] rewrite(byte[] bytes, Set<String> leave) {
        ClassReader reader = new ClassReader(bytes);
        ClassWriter writer = new ClassWriter(reader, 0);
        reader.accept(new Probes(writer, leave), 0);
        return writer.toByteArray();
    }

    /** Gives every method with code its probes. */
    private static final class Probes extends ClassVisitor {
        private final Set<String> leave;
        private boolean frames;
        private boolean isObject;

        Probes(ClassWriter writer, Set<String> leave) {
            super(Opcodes.ASM9, writer);
            this.leave = leave;
        }

        @Override
        public void visit(int version, int access, String name, String signature, String superName, String[] interfaces) {
            frames = (version & 0xFFFF) >= Opcodes.V1_6;
            isObject = superName == null;
            super.visit(version, access, name, signature, superName, interfaces);
        }

        @Override
        public MethodVisitor visitMethod(int access, String name, String descriptor, String signature, String[] exceptions) {
            MethodVisitor method = super.visitMethod(access, name, descriptor, signature, exceptions);
            if ((access & (Opcodes.ACC_ABSTRACT | Opcodes.ACC_NATIVE)) != 0
                    || leave != null && leave.contains(name + descriptor)) {
                return method; // the writer's own visitor: ASM then copies the method's bytes
            }
            boolean constructor = !isObject && name.equals("<init>");
            return new MethodProbes(method, nextId++, constructor, frames);
        }
    }

    /** Inserts the probes into one method. */
    private static final class MethodProbes extends MethodVisitor {
        private final int id;
        private final boolean frames;
        /** True before the call of another constructor on {@code this}, which no handler may cover. */
        private boolean uninitializedThis;
        /** Objects made by {@code new} and not yet initialised. */
        private int pendingNew;
        private Label start;

        MethodProbes(MethodVisitor next, int id, boolean constructor, boolean frames) {
            super(Opcodes.ASM9, next);
            this.id = id;
            this.uninitializedThis = constructor;
            this.frames = frames;
        }

        @Override
        public void visitCode() {
            super.visitCode();
            call("enter");
            if (!uninitializedThis) {
                startRange();
            }
        }

        private void startRange() {
            start = new Label();
            mv.visitLabel(start);
        }

        private void call(String probe) {
            if (id <= 5) {
                mv.visitInsn(Opcodes.ICONST_0 + id);
            } else if (id <= Byte.MAX_VALUE) {
                mv.visitIntInsn(Opcodes.BIPUSH, id);
            } else if (id <= Short.MAX_VALUE) {
                mv.visitIntInsn(Opcodes.SIPUSH, id);
            } else {
                mv.visitLdcInsn(id);
            }
            mv.visitMethodInsn(Opcodes.INVOKESTATIC, TRACKER, probe, "(I)V", false);
        }

        @Override
        public void visitInsn(int opcode) {
            if (opcode >= Opcodes.IRETURN && opcode <= Opcodes.RETURN) {
                call("exit");
            }
            mv.visitInsn(opcode);
        }

        @Override
        public void visitTypeInsn(int opcode, String type) {
            if (opcode == Opcodes.NEW) {
                pendingNew++;
            }
            mv.visitTypeInsn(opcode, type);
        }

        @Override
        public void visitMethodInsn(int opcode, String owner, String name, String descriptor, boolean isInterface) {
            mv.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
            if (uninitializedThis && opcode == Opcodes.INVOKESPECIAL && name.equals("<init>") && pendingNew-- == 0) {
                uninitializedThis = false;
                startRange();
            }
        }

        @Override
        public void visitMaxs(int maxStack, int maxLocals) {
            if (start != null) {
                Label handler = new Label();
                // This entry comes last in the exception table, since MethodWriter keeps the order
                // of the calls.
                mv.visitTryCatchBlock(start, handler, handler, null);
                mv.visitLabel(handler);
                if (frames) {
                    // A full frame is legal between compressed ones: it depends on no frame before it.
                    mv.visitFrame(Opcodes.F_FULL, 0, null, 1, new Object[] {"java/lang/Throwable"});
                }
                call("exit");
                mv.visitInsn(Opcodes.ATHROW);
            }
            mv.visitMaxs(Math.max(maxStack + 1, 2), maxLocals);
        }
    }
}
