package loadhook;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** Writes messages to the standard error of the process, not to the stream that the program may have put in its place. */
final class Diagnostics {
    private Diagnostics() {
    }

    static void line(String text) {
        String line = "loadhook: " + text.replace('\n', ' ').replace('\r', ' ') + "\n";
        try {
            // Not closed: the descriptor belongs to the process. A single write keeps the line in one piece.
            new FileOutputStream(FileDescriptor.err).write(line.getBytes(StandardCharsets.UTF_8));
        } catch (SecurityException error) {
            System.err.print(line);
        } catch (IOException error) {
            // There is no way to report it.
        }
    }

    static void failure(String what, Throwable error) {
        try {
            line(what + ": " + reason(error));
        } catch (Throwable another) {
            // There is no heap or no stack. The program goes on.
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
