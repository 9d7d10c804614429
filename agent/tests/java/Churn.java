import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;

/**
 * Loads one class through one loader after the other, calls it, drops both, and starts brief threads.
 *
 * <pre>Churn same|named|generated loaders|seconds COUNT PARTS</pre>
 *
 * Prints a line after each part: loaders and threads so far, and the resident kilobytes. {@code same}: all loaders are equal;
 * {@code named}: each has a name of its own; {@code generated}: each time the class has another name.
 */
public class Churn {
    /** The class that is loaded. Another number of the same length may replace the digits in its name. */
    public static final class Work000000 implements Runnable {
        private static Object made;

        @Override
        public void run() {
            for (int at = 0; at < 3; at++) {
                step(at);
            }
            m0(); m1(); m2(); m3(); m4(); m5(); m6(); m7(); m8(); m9();
            m10(); m11(); m12(); m13(); m14(); m15(); m16(); m17(); m18(); m19();
            m20(); m21(); m22(); m23(); m24(); m25(); m26(); m27(); m28(); m29();
            m30(); m31(); m32(); m33(); m34(); m35(); m36(); m37(); m38(); m39();
        }

        // Makes the memory visible that each copy of the class leaves behind.
        static void m0() { made = null; } static void m1() { made = null; } static void m2() { made = null; } static void m3() { made = null; } static void m4() { made = null; }
        static void m5() { made = null; } static void m6() { made = null; } static void m7() { made = null; } static void m8() { made = null; } static void m9() { made = null; }
        static void m10() { made = null; } static void m11() { made = null; } static void m12() { made = null; } static void m13() { made = null; } static void m14() { made = null; }
        static void m15() { made = null; } static void m16() { made = null; } static void m17() { made = null; } static void m18() { made = null; } static void m19() { made = null; }
        static void m20() { made = null; } static void m21() { made = null; } static void m22() { made = null; } static void m23() { made = null; } static void m24() { made = null; }
        static void m25() { made = null; } static void m26() { made = null; } static void m27() { made = null; } static void m28() { made = null; } static void m29() { made = null; }
        static void m30() { made = null; } static void m31() { made = null; } static void m32() { made = null; } static void m33() { made = null; } static void m34() { made = null; }
        static void m35() { made = null; } static void m36() { made = null; } static void m37() { made = null; } static void m38() { made = null; } static void m39() { made = null; }

        private void step(int at) {
            made = new byte[16 + at];
            made = new Work000000();
        }
    }

    static final class Dropped extends ClassLoader {
        Dropped(String name) {
            super(name, Churn.class.getClassLoader());
        }

        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    private static byte[] bytes;
    private static volatile int sink;

    private static void round(String mode, int number) throws Exception {
        byte[] bytes = Churn.bytes;
        if (mode.equals("generated")) {
            byte[] digits = String.format("%06d", number).getBytes(StandardCharsets.ISO_8859_1);
            bytes = bytes.clone();
            for (int at = 0; at < bytes.length - 10; at++) {
                if (new String(bytes, at, 10, StandardCharsets.ISO_8859_1).equals("Work000000")) {
                    System.arraycopy(digits, 0, bytes, at + 4, 6);
                }
            }
        }
        Class<?> work = new Dropped(mode.equals("named") ? "plugin-" + number : null).define(bytes);
        ((Runnable) work.getConstructor().newInstance()).run();
    }

    private static void brief() {
        sink = sink * 31 + 1;
        for (int at = 0; at < 5; at++) {
            leaf(at);
        }
    }

    private static void leaf(int at) {
        sink += at;
    }

    private static long resident() throws Exception {
        for (String line : Files.readAllLines(Paths.get("/proc/self/status"))) {
            if (line.startsWith("VmRSS:")) {
                return Long.parseLong(line.replaceAll("[^0-9]", ""));
            }
        }
        return 0;
    }

    public static void main(String[] args) throws Exception {
        try (InputStream in = Churn.class.getResourceAsStream("Churn$Work000000.class")) {
            bytes = in.readAllBytes();
        }
        boolean timed = args[1].equals("seconds");
        long count = Long.parseLong(args[2]);
        int parts = Integer.parseInt(args[3]);
        long start = System.nanoTime();
        int loaders = 0;
        int threads = 0;
        for (int part = 1; part <= parts; part++) {
            while ((timed ? System.nanoTime() - start : loaders * 1000000000L) < count * 1000000000L / parts * part) {
                round(args[0], ++loaders);
                if (loaders % 5 < 2) {
                    Thread thread = new Thread(Churn::brief, "brief-" + ++threads);
                    thread.start();
                    thread.join();
                }
            }
            System.gc();
            System.out.println(loaders + " " + threads + " " + resident());
        }
    }
}
