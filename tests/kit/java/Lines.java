/** Findings go to the Rust side one a line, fields separated by tabs. */
final class Lines {
    private Lines() {}

    static String escape(String text) {
        return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r");
    }
}
