import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.List;

/** A Java agent that makes the JVM retransform the classes of {@link Json} to the bytes that they have already. */
public final class Unchanged {
    private Unchanged() {
    }

    public static void agentmain(String options, Instrumentation instrumentation) throws Exception {
        ClassFileTransformer same = new ClassFileTransformer() {
            @Override
            public byte[] transform(ClassLoader loader, String name, Class<?> changed, ProtectionDomain domain,
                    byte[] bytes) {
                return changed == null ? null : bytes.clone();
            }
        };
        List<Class<?>> classes = new ArrayList<>();
        for (Class<?> loaded : instrumentation.getAllLoadedClasses()) {
            if (loaded.getName().startsWith("Json")) {
                classes.add(loaded);
            }
        }
        instrumentation.addTransformer(same, true);
        instrumentation.retransformClasses(classes.toArray(new Class<?>[0]));
        instrumentation.removeTransformer(same);
    }
}
