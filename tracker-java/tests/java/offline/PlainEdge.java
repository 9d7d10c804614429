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

/** Runs its first probe when a given number of frames is left on the stack, and then continues. */
public class PlainEdge {
    static int at;
    /** Number of frames from here to the end of the stack. It is counted while the calls return. */
    static int frames;

    public static void main(String[] args) throws Exception {
        at = Integer.parseInt(args[0]);
        // All other classes are loaded first. So near the end of the stack, only the classes of the probe are still to
        // be loaded.
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
                // The stack overflow is expected.
            }
        }
    }

    /**
     * Uses classes of the JDK. A tracker that initialised them near the end of the stack would have left them unusable.
     */
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
