import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;

/**
 * Checks every class of a tree with {@code java.lang.classfile}'s verifier, and the tables of its
 * code.
 *
 * TREE is a folder or an archive. {@code VerifyTree TREE ORIGINAL} distinguishes classes that rewriting made wrong from
 * classes that were already wrong in ORIGINAL. It uses the class hierarchy of ORIGINAL. {@code VerifyTree --originals
 * TREE} makes no comparison. Standard output has one line for each finding, with escaped fields that are separated by
 * tabs: {@code FAIL|KNOWN  verify|tables|unreadable  path  message}; the last line has the counts.
 */
public final class VerifyTree {
    /** Maximum number of messages: more would be repetitions, since a wrong frame affects all instructions after it. */
    private static final int MESSAGES = 4;

    private final Path tree;
    private final ClassTree original;
    private final boolean compare;
    private final ClassFileVerifier verifier;
    private final AtomicInteger verified = new AtomicInteger();
    private final AtomicInteger below50 = new AtomicInteger();

    private VerifyTree(Path tree, Path original, boolean compare) {
        this.tree = tree;
        this.original = new ClassTree(original);
        this.compare = compare;
        this.verifier = this.original.verifier();
    }

    public static void main(String[] args) throws IOException {
        if (args.length != 2) {
            System.err.println("usage: VerifyTree TREE ORIGINAL | VerifyTree --originals TREE");
            System.exit(2);
        }
        boolean compare = !args[0].equals("--originals");
        Path tree = Path.of(compare ? args[0] : args[1]);
        if (Files.isRegularFile(tree)) {
            tree = FileSystems.newFileSystem(tree).getPath("/");
        }
        VerifyTree judge = new VerifyTree(tree, Path.of(args[1]), compare);
        List<Path> files = ClassTree.files(tree);
        List<String> findings = files.parallelStream().flatMap(f -> judge.judge(f).stream()).collect(Collectors.toList());
        StringBuilder out = new StringBuilder();
        findings.forEach(f -> out.append(f).append('\n'));
        out.append("DONE\t").append(files.size()).append('\t').append(judge.verified).append('\t').append(judge.below50);
        System.out.println(out);
    }

    private List<String> judge(Path file) {
        Path relative = tree.relativize(file);
        List<String> findings = new ArrayList<>();
        byte[] bytes = ClassTree.read(file);
        ClassBytes parsed = parse(bytes, relative, findings);
        if (parsed == null) {
            return findings;
        }
        List<CodeTables.Defect> defects = CodeTables.check(parsed);
        List<String> errors = List.of();
        if (parsed.majorVersion < 50) {
            below50.incrementAndGet();
        } else {
            verified.incrementAndGet();
            errors = verifier.verify(bytes);
        }
        if (defects.isEmpty() && errors.isEmpty()) {
            return findings;
        }
        byte[] before = compare ? original.counterpart(relative, parsed.thisClass) : null;
        if (!errors.isEmpty()) {
            boolean known = before != null && !verifier.verify(before).isEmpty();
            findings.add(finding(known, "verify", relative, errors));
        }
        List<CodeTables.Defect> added = before == null ? defects : CodeTables.added(defects, defectsOf(before));
        if (!added.isEmpty()) {
            findings.add(finding(false, "tables", relative, texts(added)));
        } else if (!defects.isEmpty()) {
            findings.add(finding(true, "tables", relative, texts(defects)));
        }
        return findings;
    }

    /** A class that cannot be read is known only if its original cannot be read either. */
    private ClassBytes parse(byte[] bytes, Path relative, List<String> findings) {
        try {
            return new ClassBytes(bytes);
        } catch (ClassBytes.Malformed e) {
            byte[] before = compare ? original.counterpart(relative, null) : null;
            boolean known = false;
            if (before != null) {
                try {
                    new ClassBytes(before);
                } catch (ClassBytes.Malformed alike) {
                    known = true;
                }
            }
            findings.add(finding(known, "unreadable", relative, List.of(e.getMessage())));
            return null;
        }
    }

    private static List<CodeTables.Defect> defectsOf(byte[] before) {
        try {
            return CodeTables.check(new ClassBytes(before));
        } catch (ClassBytes.Malformed e) {
            return List.of();
        }
    }

    private static List<String> texts(List<CodeTables.Defect> defects) {
        return defects.stream().map(d -> d.method() + ": " + d.kind() + ": " + d.detail()).collect(Collectors.toList());
    }

    private static String finding(boolean known, String kind, Path relative, List<String> messages) {
        String text = messages.stream().limit(MESSAGES).collect(Collectors.joining("\n"));
        if (messages.size() > MESSAGES) {
            text += "\n… and " + (messages.size() - MESSAGES) + " more";
        }
        return String.join("\t", known ? "KNOWN" : "FAIL", kind, Lines.escape(relative.toString()), Lines.escape(text));
    }
}
