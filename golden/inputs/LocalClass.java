// javac 17 flags: -g
/** Local and anonymous classes: val$ fields are stored before a super call with arguments. */
public class LocalClass {
    static class Base {
        final String text;

        Base(String text) {
            this.text = text + describe();
        }

        String describe() {
            return "base";
        }
    }

    static Base make(String first, long second, boolean anonymous) {
        class Local extends Base {
            Local() {
                super(first.isEmpty() ? "empty" : first);
            }

            @Override
            String describe() {
                return first + second;
            }
        }
        if (!anonymous) {
            return new Local();
        }
        return new Base(first) {
            @Override
            String describe() {
                return second + "!";
            }
        };
    }

    public static Object run() {
        return make("a", 2, false).text + make("", 3, false).text + make("c", 4, true).text;
    }
}
