/** Strings built, cut and compared. */
public class Strings {
    public static Object run() {
        String text = "The quick brown fox";
        return reverse(text) + '|' + vowels(text) + '|' + caesar("Hello, World", 3) + '|' + words(text) + '|' + escape("a\tb\u0000\uD800é") + hash(text);
    }

    static String reverse(String text) {
        StringBuilder out = new StringBuilder(text.length());
        for (int i = text.length() - 1; i >= 0; i--) {
            out.append(text.charAt(i));
        }
        return out.toString();
    }

    static int vowels(String text) {
        int count = 0;
        for (char c : text.toCharArray()) {
            if ("aeiou".indexOf(c) >= 0) {
                count++;
            }
        }
        return count;
    }

    static String caesar(String text, int by) {
        char[] out = text.toCharArray();
        for (int i = 0; i < out.length; i++) {
            char c = out[i];
            if (c >= 'a' && c <= 'z') {
                out[i] = (char) ('a' + (c - 'a' + by) % 26);
            } else if (c >= 'A' && c <= 'Z') {
                out[i] = (char) ('A' + (c - 'A' + by) % 26);
            }
        }
        return new String(out);
    }

    static String words(String text) {
        String out = "";
        for (String word : text.split(" ")) {
            out += word.substring(1) + word.charAt(0) + (word.length() > 3 ? "ay" : null) + 1 + 2L + 3.0;
        }
        return out;
    }

    static String escape(String text) {
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < text.length(); i++) {
            int c = text.charAt(i);
            out.append(c < 32 || c > 126 ? Integer.toHexString(c) : String.valueOf((char) c));
        }
        return out.toString();
    }

    static int hash(String text) {
        try {
            return text.substring(30).hashCode();
        } catch (StringIndexOutOfBoundsException e) {
            return text.hashCode();
        }
    }
}
