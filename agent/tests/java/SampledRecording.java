import java.nio.file.Path;
import java.time.Duration;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordingFile;

/** Has JFR sample the processor time of this program into a file, and prints the number of samples. */
public class SampledRecording {
    static volatile long sink;

    public static void main(String[] args) throws Exception {
        // Meanwhile, the sampler takes its signal.
        burn(200);
        Path file = Path.of(args[0]);
        try (Recording recording = new Recording()) {
            recording.enable("jdk.CPUTimeSample").with("throttle", "10ms");
            recording.start();
            burn(1500);
            recording.stop();
            recording.dump(file);
        }
        System.out.println(RecordingFile.readAllEvents(file).stream()
                .filter(event -> event.getEventType().getName().equals("jdk.CPUTimeSample"))
                .count());
    }

    private static void burn(long millis) {
        long end = System.nanoTime() + Duration.ofMillis(millis).toNanos();
        while (System.nanoTime() - end < 0) {
            for (int i = 0; i < 10000; i++) {
                sink += i;
            }
        }
    }
}
