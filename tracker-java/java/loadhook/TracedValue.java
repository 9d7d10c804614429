package loadhook;

/**
 * A value of a traced call: {@code this}, an argument or the result. Refers to the next value of the call.
 * A list of values is written as text when the call is taken, unless the text needs an object of the program.
 *
 * Values are not boxed. The JDK's methods for boxing may be traced themselves, and would then box their own
 * arguments.
 */
final class TracedValue {
    /** The number of characters after which a text is cut. */
    private static final int MOST = 80;
    /** The length of the text of a call's values at which no further value is added to the text. */
    private static final int LONG_TEXT = 1 << 13;

    private final TracedValue next;
    /** The letter I, J, F, D or L, as in descriptors; T for the text of a whole list, which is the object. */
    private final char kind;
    /** The bits of the number, if the value is a number. */
    private final long bits;
    private final Object object;

    private TracedValue(char kind, long bits, Object object, Object next) {
        this.next = (TracedValue) next;
        this.kind = kind;
        this.bits = bits;
        this.object = object;
    }

    /**
     * Puts a value in front of a list. Without memory returns the empty list, so other lists always begin with
     * the first value.
     */
    static Object before(char kind, long bits, Object object, Object list) {
        try {
            return new TracedValue(kind, bits, object, list);
        } catch (OutOfMemoryError error) {
            return null;
        }
    }

    /**
     * Returns a list that stands for the same values and may be kept. This is the list itself if its objects are
     * numbers and short strings.
     *
     * @param callsToString true to call {@code toString} of objects whose text the JDK does not define
     */
    static TracedValue settled(TracedValue list, boolean callsToString) {
        TracedValue at = list;
        while (at != null && at.isSmall()) {
            at = at.next;
        }
        return at == null ? list : new TracedValue('T', 0, text(list, callsToString), null);
    }

    /** Returns whether the value keeps only a few bytes in memory, and its text stays the same. */
    private boolean isSmall() {
        Object object = this.object;
        return object == null || object instanceof String && ((String) object).length() <= MOST
                || object instanceof Integer || object instanceof Long || object instanceof Double
                || object instanceof Boolean || object instanceof Character || object instanceof Float
                || object instanceof Short || object instanceof Byte;
    }

    /** Appends the text of a {@linkplain #settled settled} list. */
    static void write(TracedValue list, StringBuilder text) {
        if (list != null) {
            text.append(list.kind == 'T' ? (String) list.object : text(list, false));
        }
    }

    /**
     * Returns a line for each value of a list: a letter for its kind, then its text. See {@code values.rs} in the
     * agent.
     *
     * @param callsToString true to call {@code toString} of objects whose text the JDK does not define
     */
    private static String text(TracedValue list, boolean callsToString) {
        StringBuilder lines = new StringBuilder();
        for (TracedValue at = list; at != null && lines.length() < LONG_TEXT; at = at.next) {
            lines.append("value ");
            at.write(lines, callsToString);
            lines.append('\n');
        }
        return lines.toString();
    }

    /** Returns the result of {@code toString}, which is code of the program. */
    private static String described(Object object) {
        try {
            String text = object.toString();
            return text == null ? "toString returned null" : cut(text);
        } catch (ThreadDeath stop) {
            throw stop;
        } catch (Throwable error) {
            return "toString threw " + error.getClass().getName();
        }
    }

    private void write(StringBuilder lines, boolean callsToString) {
        switch (kind) {
            case 'I':
                lines.append("i ").append((int) bits);
                return;
            case 'J':
                lines.append("n ").append(bits);
                return;
            case 'F':
                lines.append("n ").append(Float.intBitsToFloat((int) bits));
                return;
            case 'D':
                lines.append("n ").append(Double.longBitsToDouble(bits));
                return;
            default:
                break;
        }
        String plain = object == null ? "null" : plain(object);
        if (object instanceof String) {
            lines.append("t \"");
            String string = (String) object;
            String cut = cut(string);
            escape(cut, lines);
            lines.append('"');
            if (cut.length() < string.length()) {
                lines.append(" (").append(string.length()).append(" characters)");
            }
        } else if (plain != null) {
            lines.append("n ").append(plain);
        } else if (callsToString && !object.getClass().isArray()) {
            lines.append("c ").append(object.getClass().getName()).append(' ');
            escape(described(object), lines);
        } else {
            lines.append("o ");
            escape(name(object), lines);
        }
    }

    /** Returns a text that shows an object completely and that only code of the JDK makes; null if there is none. */
    private static String plain(Object object) {
        if (object instanceof String) {
            return "";
        }
        if (object instanceof Integer || object instanceof Long || object instanceof Double || object instanceof Float
                || object instanceof Short || object instanceof Byte || object instanceof Boolean
                || object instanceof Character && !Character.isISOControl((Character) object)) {
            return object.toString();
        }
        return object instanceof Enum ? ((Enum<?>) object).name() : null;
    }

    /** Returns an array's type with its length, or an object's class with its identity hash code. */
    private static String name(Object object) {
        Class<?> type = object.getClass();
        if (!type.isArray()) {
            return type.getName() + '@' + Integer.toHexString(System.identityHashCode(object));
        }
        int length = java.lang.reflect.Array.getLength(object);
        String element = type.getComponentType().getTypeName();
        int brackets = element.indexOf('[');
        int at = brackets < 0 ? element.length() : brackets;
        return element.substring(0, at) + '[' + length + ']' + element.substring(at);
    }

    /**
     * Returns the beginning of a text, with an ellipsis if the text is longer. No character of two chars is cut
     * in two.
     */
    private static String cut(String text) {
        if (text.length() <= MOST) {
            return text;
        }
        int end = Character.isHighSurrogate(text.charAt(MOST - 1)) ? MOST - 1 : MOST;
        return text.substring(0, end) + '\u2026';
    }

    /** Appends a text without line breaks. */
    private static void escape(String text, StringBuilder lines) {
        lines.append(text.replace("\n", "\\n").replace("\r", "\\r"));
    }
}
