package loadhook;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/**
 * Writes messages to the standard error of the process. {@code System.err} is not used, because the program may
 * have replaced that stream.
 */
final class Diagnostics {
    private Diagnostics() {
    }

    static void line(String text) {
        String line = "loadhook: " + printable(text.replace('\n', ' ').replace('\r', ' ')) + "\n";
        try {
            // The stream is not closed, because the descriptor belongs to the process. A single write keeps the
            // line in one piece.
            new FileOutputStream(FileDescriptor.err).write(line.getBytes(StandardCharsets.UTF_8));
        } catch (SecurityException error) {
            System.err.print(line);
        } catch (IOException error) {
            // The message cannot be reported anywhere.
        }
    }

    /**
     * Escapes characters that a terminal interprets. Messages quote settings, file names and
     * messages of exceptions.
     */
    private static String printable(String text) {
        StringBuilder printable = new StringBuilder(text.length());
        int at = 0;
        while (at < text.length()) {
            int c = text.codePointAt(at);
            if (actsOnOthers(c)) {
                printable.append("\\u{").append(Integer.toHexString(c)).append('}');
            } else {
                printable.appendCodePoint(c);
            }
            at += Character.charCount(c);
        }
        return printable.toString();
    }

    /**
     * Returns whether a character is a control character other than the tab, an invisible or
     * directional character, a tag, or half of a surrogate pair.
     */
    private static boolean actsOnOthers(int c) {
        return c < ' ' && c != '\t'
            || c >= 0x7f && c <= 0x9f
            || c == 0x61c
            || c == 0x200b
            || c >= 0x200e && c <= 0x200f
            || c >= 0x2028 && c <= 0x202e
            || c >= 0x2060 && c <= 0x2069
            || c >= 0xd800 && c <= 0xdfff
            || c == 0xfeff
            || c >= 0xfff9 && c <= 0xfffb
            || c >= 0xe0000 && c <= 0xe007f;
    }

    static void failure(String what, Throwable error) {
        try {
            line(what + ": " + reason(error));
        } catch (Throwable another) {
            // The heap or the stack is exhausted. The program continues.
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
