import java.io.BufferedOutputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Enumeration;
import java.util.Locale;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.objectweb.asm.MethodTooLargeException;

/**
 * Measures a jar transformer on top of ASM: {@code AsmJar IN OUT…} rewrites each archive {@code IN} into {@code OUT},
 * and prints the seconds that each takes. Entries that are not classes are unpacked and packed again, since {@code
 * java.util.zip} cannot copy them.
 */
public final class AsmJar {
    private AsmJar() {}

    public static void main(String[] args) throws IOException {
        for (int at = 0; at < args.length; at += 2) {
            long start = System.nanoTime();
            rewrite(new File(args[at]), new File(args[at + 1]));
            System.out.printf(Locale.ROOT, "%.4f%n", (System.nanoTime() - start) / 1e9);
        }
    }

    private static void rewrite(File in, File out) throws IOException {
        try (ZipFile from = new ZipFile(in);
                ZipOutputStream to = new ZipOutputStream(new BufferedOutputStream(new FileOutputStream(out), 1 << 20))) {
            to.setLevel(6);
            for (Enumeration<? extends ZipEntry> all = from.entries(); all.hasMoreElements();) {
                ZipEntry entry = all.nextElement();
                byte[] bytes;
                try (InputStream stream = from.getInputStream(entry)) {
                    bytes = stream.readAllBytes();
                }
                if (entry.getName().endsWith(".class")) {
                    try {
                        bytes = AsmBench.rewrite(bytes, null);
                    } catch (MethodTooLargeException e) {
                        // The class stays as it was.
                    }
                }
                ZipEntry made = new ZipEntry(entry.getName());
                made.setTime(entry.getTime());
                to.putNextEntry(made);
                to.write(bytes);
                to.closeEntry();
            }
        }
    }
}
