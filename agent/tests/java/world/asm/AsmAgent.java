import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.List;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/** Another agent: counts the calls of the methods of Work. */
public final class AsmAgent {
    private static Instrumentation instrumentation;
    private static int hits;

    private AsmAgent() {
    }

    public static void premain(String arguments, Instrumentation given) {
        instrumentation = given;
        if (!arguments.equals("late")) {
            given.addTransformer(new Counting(), arguments.equals("retransforms"));
        }
    }

    public static void hit() {
        hits++;
    }

    public static void report() {
        System.out.println(hits + " hits");
    }

    /** Retransforms all loaded classes, so that they are changed again. */
    public static void again() throws Exception {
        List<Class<?>> all = new ArrayList<>();
        for (Class<?> loaded : instrumentation.getAllLoadedClasses()) {
            if (instrumentation.isModifiableClass(loaded)) {
                all.add(loaded);
            }
        }
        instrumentation.retransformClasses(all.toArray(new Class<?>[0]));
        System.out.println(all.size() > 300);
    }

    /** Begins to count now, not at the start of the program. */
    public static void late() throws Exception {
        instrumentation.addTransformer(new Counting(), true);
        again();
    }

    private static final class Counting implements ClassFileTransformer {
        @Override
        public byte[] transform(ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain,
                byte[] bytes) {
            if (name == null || !name.equals("Work") && !name.startsWith("Work$")) {
                return null;
            }
            ClassReader reader = new ClassReader(bytes);
            ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
            reader.accept(new ClassVisitor(Opcodes.ASM9, writer) {
                @Override
                public MethodVisitor visitMethod(int access, String method, String descriptor, String signature,
                        String[] exceptions) {
                    MethodVisitor to = super.visitMethod(access, method, descriptor, signature, exceptions);
                    return new MethodVisitor(Opcodes.ASM9, to) {
                        @Override
                        public void visitCode() {
                            super.visitCode();
                            visitInsn(Opcodes.NOP);
                            visitMethodInsn(Opcodes.INVOKESTATIC, "AsmAgent", "hit", "()V", false);
                        }
                    };
                }
            }, 0);
            return writer.toByteArray();
        }
    }
}
