import java.util.HashMap;

/** Constructors with much code around the super call; the super constructor stores its argument. */
public class Builders extends HashMap<Object, Object> {
    private static final long serialVersionUID = 1;
    static String log = "";
    private int[] sizes = {1, 2, 3};
    private Builders parent;
    private final long id;

    Builders(int a, int b, String c) {
        super(a > 0 && b > 0 ? a * b : c == null ? note(b) : c.length() + note(a), c != null && c.startsWith("x") ? 0.5f : 0.9f);
        for (int i = 0; i < a; i++) {
            put(i, c);
        }
        if (b == 3) {
            id = 3;
            return;
        }
        id = a + b;
        try {
            put(c.charAt(b), sizes[a]);
        } catch (StringIndexOutOfBoundsException | ArrayIndexOutOfBoundsException e) {
            put("e", e.getClass().getSimpleName());
        } catch (NullPointerException e) {
            throw new IllegalStateException("null of " + size(), e);
        } finally {
            log += "f" + b;
        }
    }

    Builders(Builders parent, boolean deep) {
        this(parent == null ? 1 : parent.size(), deep ? new Builders(parent, false).size() : 2, "x" + deep);
        this.parent = parent;
        if (!deep) {
            sizes = new int[parent.sizes.length + 1];
        }
    }

    Builders() {
        this(note(4), 3, (String) null);
    }

    Builders(Object o) {
        this((Builders) o, o.hashCode() > 1 << 20);
    }

    static int note(int n) {
        log += n;
        if (n < 0) {
            throw new ArithmeticException("below 0: " + n);
        }
        return n;
    }

    private static Object make(int i) {
        switch (i) {
            case 0: return new Builders(2, 1, "xyz");
            case 1: return new Builders(0, 5, "abc");
            case 2: return new Builders(3, -1, null);
            case 3: return new Builders(1, 1, null);
            case 4: return new Builders(new Builders(), true);
            case 5: return new Builders(null, true);
            case 6: return new Builders("no builder");
            case 7: return new Builders(-2, 9, "abc");
            default: return new Builders().parent;
        }
    }

    public static Object run() {
        log = "";
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < 9; i++) {
            try {
                out.append(make(i)).append('\n');
            } catch (ClassCastException e) {
                out.append("CCE\n");
            } catch (RuntimeException e) {
                out.append(e.getClass().getSimpleName()).append(' ').append(e.getMessage()).append('\n');
            }
        }
        return out + log;
    }
}
