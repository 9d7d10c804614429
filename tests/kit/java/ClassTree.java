import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The class files under a folder, found by relative path or by the class name in the file.
 *
 * Names come from the files, so the layout does not matter: packages, a folder for each module, or
 * flat.
 */
final class ClassTree {
    private static final int ACC_INTERFACE = 0x0200;

    private final Path root;
    private final Map<String, Path> byName = new ConcurrentHashMap<>();
    private final Map<String, String> superclasses = new ConcurrentHashMap<>();
    private final Set<String> interfaces = ConcurrentHashMap.newKeySet();

    ClassTree(Path root) {
        this.root = root;
        files(root).parallelStream().forEach(this::index);
    }

    /** Lists every class file under a folder, sorted. */
    static List<Path> files(Path root) {
        try (Stream<Path> all = Files.walk(root)) {
            return all.filter(p -> p.toString().endsWith(".class")).sorted().collect(Collectors.toList());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static byte[] read(Path file) {
        try {
            return Files.readAllBytes(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void index(Path file) {
        ClassBytes bytes;
        try {
            bytes = new ClassBytes(read(file));
        } catch (ClassBytes.Malformed e) {
            return; // the error is reported when the file itself is checked
        }
        if (bytes.isModule()) {
            return;
        }
        byName.put(bytes.thisClass, file);
        if ((bytes.accessFlags & ACC_INTERFACE) != 0) {
            interfaces.add(bytes.thisClass);
        } else if (bytes.superClass != null) {
            superclasses.put(bytes.thisClass, bytes.superClass);
        }
    }

    ClassFileVerifier verifier() {
        return ClassFileVerifier.over(superclasses, interfaces);
    }

    /** Returns the class at the same relative path, else the class of that name; null if the tree has neither. */
    byte[] counterpart(Path relative, String name) {
        // The other tree may be in an archive, whose paths do not fit.
        Path samePlace = root.resolve(relative.toString());
        if (Files.isRegularFile(samePlace)) {
            return read(samePlace);
        }
        return name == null ? null : named(name);
    }

    /** Returns the class of this internal name; null if there is none. */
    byte[] named(String name) {
        Path file = byName.get(name);
        return file == null ? null : read(file);
    }
}
