package loadhook;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** Tells the user, on the standard error that the JVM got: what the program put in its place is its own. */
final class Diagnostics {
    private Diagnostics() {
    }

    static void line(String text) {
        String line = "loadhook: " + text.replace('\n', ' ').replace('\r', ' ') + "\n";
        try {
            // Not closed: it is the process's. One write, so that the line stays one.
            new FileOutputStream(FileDescriptor.err).write(line.getBytes(StandardCharsets.UTF_8));
        } catch (SecurityException error) {
            System.err.print(line);
        } catch (IOException error) {
            // There is nobody to tell.
        }
    }

    static void failure(String what, Throwable error) {
        try {
            line(what + ": " + reason(error));
        } catch (Throwable another) {
            // No heap, or no stack; the program goes on.
        }
    }

    private static String reason(Throwable error) {
        if (error instanceof OutOfMemoryError) {
            return "the heap is full";
        }
        String message = error.getMessage();
        String kind = error.getClass().getSimpleName();
        return message == null ? kind : message + " (" + kind + ")";
    }
}
