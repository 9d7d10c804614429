// javac 17 flags: -g
/** Constructors that end by an exception: from an argument, from super, from the body. */
public class ConstructorThrows extends java.util.ArrayList<String> {
    ConstructorThrows(String text) {
        super(Integer.parseInt(text));
        if (text.length() > 1) {
            throw new IllegalStateException(text);
        }
    }

    public static Object run() {
        StringBuilder text = new StringBuilder();
        for (String one : new String[] {"x", "-1", "22", "3"}) {
            try {
                text.append(new ConstructorThrows(one).size());
            } catch (RuntimeException e) {
                text.append(e.getClass().getSimpleName());
            }
        }
        return text.toString();
    }
}
