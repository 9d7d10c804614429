import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.InputStreamReader;
import java.net.URLConnection;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Properties;
import java.util.concurrent.locks.LockSupport;
import java.util.zip.GZIPOutputStream;

/** Runs its first probe a given number of frames before the end of its stack, and continues. */
public class PlainEdge {
    static int at;
    /** The number of frames from here to the end of the stack, counted while returning from there. */
    static int frames;

    public static void main(String[] args) throws Exception {
        at = Integer.parseInt(args[0]);
        // Loads all other classes first, so that near the end of the stack only the probe's classes
        // are missing.
        Class.forName("Edge");
        Class.forName("edge.Named");
        down();
        Edge.calls = 0;
        for (int n = 0; n < 1000; n++) {
            Edge.touch();
        }
        Thread thread = new Thread(Edge::touch);
        thread.start();
        thread.join();
        library();
        System.out.println(Edge.calls + " calls");
    }

    static void down() {
        try {
            down();
        } catch (StackOverflowError error) {
            frames = 0;
        }
        if (frames++ == at) {
            try {
                Edge.touch();
            } catch (StackOverflowError error) {
                // Expected: the end of the stack is near.
            }
        }
    }

    /** Uses classes that a tracker may have initialised before the program, and left unusable. */
    private static void library() throws Exception {
        new Properties().load(new InputStreamReader(new ByteArrayInputStream("a=b".getBytes()), StandardCharsets.UTF_8));
        new GZIPOutputStream(new ByteArrayOutputStream()).finish();
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
        File file = File.createTempFile("edge", "");
        file.deleteOnExit();
        Files.delete(file.toPath());
        URLConnection connection = PlainEdge.class.getResource("PlainEdge.class").openConnection();
        connection.getInputStream().close();
        LockSupport.parkNanos(1);
        System.getenv("PATH");
        Class.forName("java.lang.ProcessHandle").getMethod("current").invoke(null);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> { }, "hook"));
    }
}
