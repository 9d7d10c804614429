package loadhook;

import java.util.HashMap;
import java.util.Map;

/**
 * The names of methods on screen: {@code a.B.run}; with overloads {@code a.B.run(int)}; with two loaders
 * {@code a.B.run @app}.
 */
final class DisplayNames {
    private static final String LETTERS = "BCDFIJSZ";
    private static final String[] PRIMITIVES = {"byte", "char", "double", "float", "int", "long", "short", "boolean"};

    private DisplayNames() {
    }

    static String[] of(Method[] methods, int count) {
        Map<String, Integer> plain = new HashMap<String, Integer>();
        Map<String, Integer> whole = new HashMap<String, Integer>();
        for (int at = 0; at < count; at++) {
            if (add(whole, whole(methods[at])) == 1) {
                add(plain, plain(methods[at]));
            }
        }
        String[] names = new String[count];
        for (int at = 0; at < count; at++) {
            Method method = methods[at];
            String name = method.name.isEmpty() ? method.className : method.className + "." + method.name;
            if (plain.get(plain(method)) > 1) {
                name += parameters(method.descriptor);
            }
            if (whole.get(whole(method)) > 1) {
                name += " @" + (method.loader.isEmpty() ? "bootstrap" : method.loader);
            }
            names[at] = name;
        }
        return names;
    }

    private static String plain(Method method) {
        return method.className + '\0' + method.name;
    }

    private static String whole(Method method) {
        return plain(method) + '\0' + method.descriptor;
    }

    private static int add(Map<String, Integer> counts, String key) {
        Integer before = counts.get(key);
        int now = before == null ? 1 : before + 1;
        counts.put(key, now);
        return now;
    }

    /**
     * Returns the parameters of a descriptor in Java's short form. Returns a text that is not a descriptor
     * unchanged.
     */
    private static String parameters(String descriptor) {
        StringBuilder text = new StringBuilder("(");
        int length = descriptor.length();
        int at = 1;
        while (descriptor.startsWith("(") && at < length) {
            if (descriptor.charAt(at) == ')') {
                return text.append(')').toString();
            }
            text.append(at == 1 ? "" : ", ");
            int type = at;
            while (at < length && descriptor.charAt(at) == '[') {
                at++;
            }
            int dimensions = at - type;
            char letter = at < length ? descriptor.charAt(at) : ' ';
            int primitive = LETTERS.indexOf(letter);
            int end = letter == 'L' ? descriptor.indexOf(';', at) : at;
            if (end < 0 || letter != 'L' && primitive < 0) {
                break;
            }
            String name = descriptor.substring(at + 1, Math.max(at + 1, end));
            text.append(letter == 'L' ? name.substring(name.lastIndexOf('/') + 1) : PRIMITIVES[primitive]);
            for (; dimensions > 0; dimensions--) {
                text.append("[]");
            }
            at = end + 1;
        }
        return descriptor;
    }
}
