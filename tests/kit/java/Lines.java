/** Findings are passed to the Rust tests as lines of fields that are separated by tabs. */
final class Lines {
    private Lines() {}

    static String escape(String text) {
        return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r");
    }
}
