/** Features of Java 14 to 17: switch expressions, text blocks, patterns of instanceof. */
public class Patterns {
    public static Object run() {
        var out = new StringBuilder();
        Object[] all = {1, "two", 3L, 4.5, null, 'c', new int[] {6}};
        for (Object o : all) {
            out.append(kind(o)).append(size(o)).append('\n');
        }
        return out.append(text(3)).toString();
    }

    static String kind(Object o) {
        if (o instanceof Integer i && i > 0) {
            return "int " + i;
        } else if (o instanceof String s && !s.isEmpty()) {
            return "string " + s.length();
        } else if (!(o instanceof Number n)) {
            return "other";
        } else {
            return "number " + n.intValue();
        }
    }

    static int size(Object o) {
        String name = o == null ? "null" : o.getClass().getSimpleName();
        return switch (name) {
            case "Integer", "Long" -> 8;
            case "String" -> {
                int length = ((String) o).length();
                yield length * 2;
            }
            case "null" -> throwing(name);
            default -> name.length();
        };
    }

    static int throwing(String name) {
        try {
            throw new IllegalArgumentException("""
                    no size of
                      %s""".formatted(name));
        } catch (IllegalArgumentException e) {
            return e.getMessage().length();
        }
    }

    static String text(int n) {
        return switch (n) {
            case 1 -> "one";
            case 2 -> "two";
            default -> {
                if (n > 2) {
                    yield "many";
                }
                yield "few";
            }
        };
    }
}
