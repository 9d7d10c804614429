import java.io.IOException;
import java.net.URI;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Writes every class of a JDK to files: {@code <out>/<module>/<package>/<Name>.class}.
 *
 * The tests need the JDK's classes as plain files. A JDK has them in one image, which only its own {@code jrt:} file
 * system reads; another JDK loads that file system from its home. There is a folder for each module, because each
 * module has a {@code module-info}, and because {@code --patch-module} needs a tree for each module.
 */
public final class ExportClasses {
    private ExportClasses() {}

    public static void main(String[] args) throws IOException {
        if (args.length != 2) {
            System.err.println("usage: ExportClasses OUT JAVA-HOME");
            System.exit(2);
        }
        Path out = Path.of(args[0]);
        try (FileSystem jdk = FileSystems.newFileSystem(URI.create("jrt:/"), Map.of("java.home", args[1]))) {
            System.out.println(export(jdk.getPath("/modules"), out));
        }
    }

    private static int export(Path modules, Path out) throws IOException {
        List<Path> classes;
        try (Stream<Path> all = Files.walk(modules)) {
            classes = all.filter(p -> p.toString().endsWith(".class")).collect(Collectors.toList());
        }
        // Each folder is made once, before any file: checking it for each class takes longer than writing the classes.
        classes.stream().map(p -> place(out, modules, p).getParent()).distinct().forEach(ExportClasses::makeFolder);
        classes.parallelStream().forEach(p -> copy(p, place(out, modules, p)));
        return classes.size();
    }

    private static Path place(Path out, Path modules, Path inImage) {
        return out.resolve(modules.relativize(inImage).toString());
    }

    private static void makeFolder(Path folder) {
        try {
            Files.createDirectories(folder);
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private static void copy(Path from, Path to) {
        try {
            Files.write(to, Files.readAllBytes(from));
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
