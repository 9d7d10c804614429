package loadhook;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Array;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Calls {@code java.lang.classfile.ClassFile.verify} (JDK 24 and later), with a class hierarchy given as data.
 *
 * The method is called by reflection, so that the compiler of any JDK can compile this class. A class that the
 * hierarchy lacks is looked up in the running JDK. A class that the JDK lacks, too, counts as an interface: the
 * verifier allows assignments to interfaces, while an unknown class would end its check of the method.
 */
public final class ClassFileVerifier {
    private static final int JUDGED_FROM = 50;

    private final Object classFile;
    private final MethodHandle verify;

    /** Makes a verifier. {@code superclasses} has the direct superclasses by internal names, null for interfaces. */
    public ClassFileVerifier(Map<String, String> superclasses) {
        try {
            MethodHandles.Lookup lookup = MethodHandles.publicLookup();
            Class<?> file = Class.forName("java.lang.classfile.ClassFile");
            Class<?> option = Class.forName("java.lang.classfile.ClassFile$Option");
            Class<?> hierarchyOption = Class.forName("java.lang.classfile.ClassFile$ClassHierarchyResolverOption");
            Class<?> options = Array.newInstance(option, 0).getClass();
            Class<?> resolver = Class.forName("java.lang.classfile.ClassHierarchyResolver");
            Object chosen = lookup.findStatic(hierarchyOption, "of", MethodType.methodType(hierarchyOption, resolver))
                    .invoke(hierarchy(lookup, resolver, superclasses));
            Object list = Array.newInstance(option, 1);
            Array.set(list, 0, chosen);
            classFile = lookup.findStatic(file, "of", MethodType.methodType(file, options)).asFixedArity().invoke(list);
            verify = lookup.findVirtual(file, "verify", MethodType.methodType(List.class, byte[].class));
        } catch (Throwable e) {
            throw new IllegalStateException("this JVM, " + System.getProperty("java.version") + ", has no java.lang.classfile; use JDK 24 or later", e);
        }
    }

    private static Object hierarchy(MethodHandles.Lookup lookup, Class<?> resolver, Map<String, String> superclasses)
            throws Throwable {
        Class<?> description = Class.forName("java.lang.constant.ClassDesc");
        MethodHandle describe = lookup.findStatic(description, "ofDescriptor", MethodType.methodType(description, String.class));
        List<Object> interfaces = new ArrayList<>();
        Map<Object, Object> classes = new HashMap<>();
        for (Map.Entry<String, String> known : superclasses.entrySet()) {
            Object type = (Object) describe.invoke("L" + known.getKey() + ";");
            if (known.getValue() == null) {
                interfaces.add(type);
            } else {
                classes.put(type, (Object) describe.invoke("L" + known.getValue() + ";"));
            }
        }
        MethodHandle or = lookup.findVirtual(resolver, "orElse", MethodType.methodType(resolver, resolver));
        Object given = lookup.findStatic(resolver, "of", MethodType.methodType(resolver, Collection.class, Map.class))
                .invoke((Collection<?>) interfaces, (Map<?, ?>) classes);
        Object running = lookup.findStatic(resolver, "defaultResolver", MethodType.methodType(resolver)).invoke();
        Object known = or.invoke(given, running);
        return or.invoke(known, unknown(lookup, resolver));
    }

    private static Object unknown(MethodHandles.Lookup lookup, Class<?> resolver) throws Throwable {
        Class<?> info = Class.forName("java.lang.classfile.ClassHierarchyResolver$ClassHierarchyInfo");
        final Object anInterface = lookup.findStatic(info, "ofInterface", MethodType.methodType(info)).invoke();
        return Proxy.newProxyInstance(ClassFileVerifier.class.getClassLoader(), new Class<?>[] {resolver}, new InvocationHandler() {
            @Override
            public Object invoke(Object proxy, Method method, Object[] args) {
                return anInterface;
            }
        });
    }

    /** Returns whether the verifier can judge a class, which needs version 50 or later. */
    public static boolean judges(byte[] bytes) {
        return bytes.length > 8 && ((bytes[6] & 0xff) << 8 | bytes[7] & 0xff) >= JUDGED_FROM;
    }

    /** Returns the verifier's messages; none if the class is valid. */
    public List<String> verify(byte[] bytes) {
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
     * Returns the class with version 51 instead of 50. For version 50 this library would not report wrong frames:
     * a JVM then falls back to the old verifier, which the library lacks.
     */
    private static byte[] judgeable(byte[] bytes) {
        if (bytes.length > 8 && bytes[6] == 0 && bytes[7] == 50) {
            byte[] copy = bytes.clone();
            copy[7] = 51;
            return copy;
        }
        return bytes;
    }
}
