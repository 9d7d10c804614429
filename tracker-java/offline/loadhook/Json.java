package loadhook;

import java.util.List;

/** Writes JSON objects with numbers and text. */
final class Json {
    private final StringBuilder text = new StringBuilder();

    void begin() {
        text.append('{');
    }

    void begin(String key) {
        key(key);
        begin();
    }

    void end() {
        text.append('}');
    }

    void number(String key, long number) {
        key(key);
        text.append(number);
    }

    void text(String key, String value) {
        key(key);
        quoted(value);
    }

    void texts(String key, List<String> values) {
        key(key);
        char before = '[';
        for (String value : values) {
            text.append(before);
            quoted(value);
            before = ',';
        }
        text.append(values.isEmpty() ? "[]" : "]");
    }

    private void key(String key) {
        if (text.charAt(text.length() - 1) != '{') {
            text.append(',');
        }
        quoted(key);
        text.append(':');
    }

    private void quoted(String value) {
        text.append('"');
        for (int at = 0; at < value.length(); at++) {
            char c = value.charAt(at);
            if (c == '"' || c == '\\') {
                text.append('\\').append(c);
            } else if (c < ' ') {
                text.append("\\u00").append((char) ('0' + c / 16)).append("0123456789abcdef".charAt(c % 16));
            } else {
                text.append(c);
            }
        }
        text.append('"');
    }

    @Override
    public String toString() {
        return text.toString();
    }
}
