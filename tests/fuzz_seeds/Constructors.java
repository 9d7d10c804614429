import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Constructors that call one another and a super constructor, which may throw. */
public class Constructors extends ArrayList<Object> {
    private static final long serialVersionUID = 1;
    static int made;
    final int number;
    final String text;

    Constructors(int capacity) {
        super(capacity < 100 ? capacity : check(capacity));
        number = capacity;
        text = "n" + capacity;
        made++;
    }

    Constructors(int a, long b) {
        this(b > 5 ? a : (int) b);
        add(a);
        add(b);
    }

    Constructors(List<Object> from, boolean twice) {
        super(twice ? new Constructors(from, false) : from);
        if (twice) {
            number = size();
        } else {
            number = -1;
            addAll(new ArrayList<Object>(from));
        }
        text = from.toString();
        made += 10;
    }

    Constructors(String text) {
        this(parse(text), 7L);
        try {
            add(text.charAt(4));
        } catch (IndexOutOfBoundsException e) {
            add("short");
        }
    }

    static int parse(String text) {
        return Integer.parseInt(text.trim());
    }

    static int check(int capacity) {
        if (capacity > 1000) {
            throw new IllegalArgumentException("too many: " + capacity);
        }
        return capacity / 2;
    }

    static Object make(int i) {
        switch (i) {
            case 0: return new Constructors(3);
            case 1: return new Constructors(-1);
            case 2: return new Constructors(2000);
            case 3: return new Constructors(4, 3L);
            case 4: return new Constructors(new ArrayList<Object>(Arrays.asList(1, "b")), true);
            case 5: return new Constructors(" 12 ");
            case 6: return new Constructors("x12");
            default: return new Constructors(null, false);
        }
    }

    public static Object run() {
        made = 0;
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < 8; i++) {
            try {
                out.append(make(i)).append(' ');
            } catch (RuntimeException e) {
                out.append(e.getClass().getSimpleName()).append(' ');
            }
        }
        return out.append(made).toString();
    }
}
