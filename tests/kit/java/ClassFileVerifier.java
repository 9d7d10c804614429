import java.lang.constant.ClassDesc;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * {@code java.lang.classfile.ClassFile.verify} (JDK 24 and later) with a given class hierarchy.
 *
 * Calls go through method handles, so that JDK 17's javac compiles this class and a JDK 25 runtime
 * without javac runs it. A class that the given hierarchy lacks is looked up in the running JDK. If
 * the JDK lacks the class, too, the verifier reports an error. {@code loadhook rewrite --verify}
 * accepts such a class, so the tests have a verifier of their own.
 */
final class ClassFileVerifier {
    private final Object classFile;
    private final MethodHandle verify;

    ClassFileVerifier(Collection<ClassDesc> interfaces, Map<ClassDesc, ClassDesc> superclasses) {
        try {
            MethodHandles.Lookup lookup = MethodHandles.publicLookup();
            Class<?> classFileType = Class.forName("java.lang.classfile.ClassFile");
            Class<?> optionType = Class.forName("java.lang.classfile.ClassFile$Option");
            Class<?> resolverType = Class.forName("java.lang.classfile.ClassHierarchyResolver");
            Class<?> resolverOptionType = Class.forName("java.lang.classfile.ClassFile$ClassHierarchyResolverOption");
            Object given = lookup.findStatic(resolverType, "of", MethodType.methodType(resolverType, Collection.class, Map.class))
                    .invoke(interfaces, superclasses);
            Object running = lookup.findStatic(resolverType, "defaultResolver", MethodType.methodType(resolverType)).invoke();
            Object both = lookup.findVirtual(resolverType, "orElse", MethodType.methodType(resolverType, resolverType))
                    .invoke(given, running);
            Object option = lookup.findStatic(resolverOptionType, "of", MethodType.methodType(resolverOptionType, resolverType))
                    .invoke(both);
            Object options = Array.newInstance(optionType, 1);
            Array.set(options, 0, option);
            classFile = lookup.findStatic(classFileType, "of", MethodType.methodType(classFileType, options.getClass()))
                    .asFixedArity().invoke(options);
            verify = lookup.findVirtual(classFileType, "verify", MethodType.methodType(List.class, byte[].class));
        } catch (Throwable e) {
            throw new IllegalStateException("this JVM, " + Runtime.version() + ", has no java.lang.classfile", e);
        }
    }

    /** Returns the messages of the verifier; an empty list if the class is valid. */
    List<String> verify(byte[] bytes) {
        List<String> messages = new ArrayList<>();
        try {
            for (Object error : (List<?>) verify.invoke(classFile, judgeable(bytes))) {
                messages.add(((VerifyError) error).getMessage());
            }
        } catch (Throwable e) {
            messages.add("the verifier threw " + e);
        }
        return messages;
    }

    /**
     * Returns the class in a form that this library judges as a JVM does. For a class of version 50
     * with wrong frames, a JVM falls back to the old verifier, which this library lacks. So such a
     * class is verified as version 51, in which its frames count.
     */
    private static byte[] judgeable(byte[] bytes) {
        if (bytes.length > 8 && bytes[6] == 0 && bytes[7] == 50) {
            byte[] copy = bytes.clone();
            copy[7] = 51;
            return copy;
        }
        return bytes;
    }

    /** Makes a verifier that knows the superclass of each class that a scan of the tree has found. */
    static ClassFileVerifier over(Map<String, String> superclasses, Set<String> interfaces) {
        Map<ClassDesc, ClassDesc> classes = new java.util.HashMap<>();
        superclasses.forEach((name, superclass) -> classes.put(descriptor(name), descriptor(superclass)));
        List<ClassDesc> known = new ArrayList<>();
        interfaces.forEach(name -> known.add(descriptor(name)));
        return new ClassFileVerifier(Collections.unmodifiableList(known), classes);
    }

    private static ClassDesc descriptor(String internalName) {
        return ClassDesc.ofDescriptor("L" + internalName + ";");
    }
}
