import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads, writes and walks a document of 2 KB, with a reader and a writer made of small methods, as libraries for JSON are.
 * Prints the nanoseconds of {@code parse}, {@code print} and {@code sum}.
 */
public final class Json {
    private Json() {
    }

    /**
     * A recursive-descent reader. Strings and numbers are scanned by loops, everything else by one
     * method for each step.
     */
    static final class Reader {
        private final String text;
        private int at;

        Reader(String text) {
            this.text = text;
        }

        Object value() {
            skipBlanks();
            char c = peek();
            switch (c) {
                case '{':
                    return object();
                case '[':
                    return array();
                case '"':
                    return string();
                case 't':
                    return word("true", Boolean.TRUE);
                case 'f':
                    return word("false", Boolean.FALSE);
                case 'n':
                    return word("null", null);
                default:
                    return number();
            }
        }

        private Map<String, Object> object() {
            Map<String, Object> members = new LinkedHashMap<>();
            expect('{');
            if (!accept('}')) {
                do {
                    String name = name();
                    members.put(name, value());
                } while (accept(','));
                expect('}');
            }
            return members;
        }

        private String name() {
            skipBlanks();
            String name = string();
            expect(':');
            return name;
        }

        private List<Object> array() {
            List<Object> elements = new ArrayList<>();
            expect('[');
            if (!accept(']')) {
                do {
                    elements.add(value());
                } while (accept(','));
                expect(']');
            }
            return elements;
        }

        private String string() {
            int start = ++at;
            int end = start;
            while (text.charAt(end) != '"') {
                if (text.charAt(end) == '\\') {
                    return escaped(start, end);
                }
                end++;
            }
            at = end + 1;
            return text.substring(start, end);
        }

        private String escaped(int start, int from) {
            StringBuilder out = new StringBuilder().append(text, start, from);
            at = from;
            while (text.charAt(at) != '"') {
                char c = text.charAt(at++);
                out.append(c == '\\' ? escape(text.charAt(at++)) : c);
            }
            at++;
            return out.toString();
        }

        private static char escape(char c) {
            switch (c) {
                case 'n':
                    return '\n';
                case 't':
                    return '\t';
                default:
                    return c;
            }
        }

        private Number number() {
            int start = at;
            boolean isWhole = true;
            for (; at < text.length(); at++) {
                char c = text.charAt(at);
                if (c == '.' || c == 'e') {
                    isWhole = false;
                } else if (c != '-' && (c < '0' || c > '9')) {
                    break;
                }
            }
            return isWhole ? (Number) Long.valueOf(text.substring(start, at)) : Double.valueOf(text.substring(start, at));
        }

        private Object word(String word, Object value) {
            if (!text.startsWith(word, at)) {
                throw new IllegalArgumentException("at " + at);
            }
            at += word.length();
            return value;
        }

        private char peek() {
            return text.charAt(at);
        }

        private void skipBlanks() {
            while (text.charAt(at) == ' ') {
                at++;
            }
        }

        private boolean accept(char c) {
            skipBlanks();
            if (peek() != c) {
                return false;
            }
            at++;
            return true;
        }

        private void expect(char c) {
            if (!accept(c)) {
                throw new IllegalArgumentException("at " + at);
            }
        }
    }

    /** Writes values into a builder. */
    static final class Writer {
        private final StringBuilder out = new StringBuilder();

        Writer value(Object value) {
            if (value instanceof Map) {
                object((Map<?, ?>) value);
            } else if (value instanceof List) {
                array((List<?>) value);
            } else if (value instanceof String) {
                string((String) value);
            } else {
                out.append(value);
            }
            return this;
        }

        private void object(Map<?, ?> members) {
            out.append('{');
            boolean isFirst = true;
            for (Map.Entry<?, ?> member : members.entrySet()) {
                separate(isFirst);
                isFirst = false;
                string((String) member.getKey());
                out.append(':');
                value(member.getValue());
            }
            out.append('}');
        }

        private void array(List<?> elements) {
            out.append('[');
            boolean isFirst = true;
            for (Object element : elements) {
                separate(isFirst);
                isFirst = false;
                value(element);
            }
            out.append(']');
        }

        private void separate(boolean isFirst) {
            if (!isFirst) {
                out.append(',');
            }
        }

        private void string(String text) {
            out.append('"');
            for (int i = 0; i < text.length(); i++) {
                char c = text.charAt(i);
                if (c == '"' || c == '\\' || c == '\n' || c == '\t') {
                    escape(c);
                } else {
                    out.append(c);
                }
            }
            out.append('"');
        }

        private void escape(char c) {
            out.append('\\').append(c == '\n' ? 'n' : c == '\t' ? 't' : c);
        }

        String text() {
            return out.toString();
        }
    }

    /** Returns the sum of the numbers in a value. */
    static double sum(Object value) {
        if (value instanceof Number) {
            return number((Number) value);
        }
        double sum = 0;
        if (value instanceof Map) {
            for (Object member : ((Map<?, ?>) value).values()) {
                sum += sum(member);
            }
        } else if (value instanceof List) {
            for (Object element : (List<?>) value) {
                sum += sum(element);
            }
        }
        return sum;
    }

    private static double number(Number number) {
        return number.doubleValue();
    }

    static int parse(String text) {
        return new Reader(text).value().hashCode();
    }

    static int print(Object value) {
        return new Writer().value(value).text().length();
    }

    static int sums(Object value) {
        return (int) sum(value);
    }

    static String document() {
        StringBuilder text = new StringBuilder("[");
        for (int i = 0; i < 12; i++) {
            text.append(i == 0 ? "" : ", ").append("{\"id\": ").append(i * 7919).append(", \"name\": \"customer number ").append(i)
                    .append("\", \"active\": ").append(i % 2 == 0).append(", \"note\": \"line one\\nline two\", \"prices\": [")
                    .append(i).append(".25, ").append(i * 3).append(", -17, 1e3], \"address\": {\"street\": \"Main Street ")
                    .append(i).append("\", \"zip\": null}}");
        }
        return text.append(']').toString();
    }

    public static void main(String[] args) {
        String text = document();
        Object value = new Reader(text).value();
        if (!new Reader(new Writer().value(value).text()).value().equals(value)) {
            throw new IllegalStateException("the document changed");
        }
        Measured.print(args, 2000, () -> parse(text), () -> print(value), () -> sums(value));
    }
}
