/** Fields, virtual calls, casts and identity of objects of one class. */
public class Objects implements Comparable<Objects>, Cloneable {
    static Objects head;
    static int count;
    final int key;
    Objects next;
    Object payload;
    boolean marked = true;
    long stamp = 1L << 40;

    Objects(int key) {
        this.key = key;
        next = head;
        head = this;
        payload = key % 2 == 0 ? (Object) Integer.valueOf(key) : "p" + key;
        count++;
    }

    private Objects(Objects other) {
        this(other == null ? -1 : other.key + 1);
        if (other != null) {
            other.next = this;
            stamp = other.stamp + 1;
        }
    }

    public static Object run() {
        head = null;
        count = 0;
        for (int i = 0; i < 5; i++) {
            new Objects(i);
        }
        Objects copy = new Objects(head);
        StringBuilder out = new StringBuilder();
        int steps = 0;
        for (Objects o = head; o != null && steps < 9; o = o.next, steps++) {
            out.append(o.describe()).append(o.compareTo(copy)).append(o.equals(copy) ? '=' : '!');
        }
        try {
            out.append(((String) head.payload).length());
            out.append((Integer) copy.next.payload);
        } catch (ClassCastException e) {
            out.append("CCE");
        } catch (NullPointerException e) {
            out.append("NPE");
        }
        return out.append(count).append(copy.twin().stamp).toString();
    }

    String describe() {
        Object p = payload;
        if (p instanceof Integer) {
            return "i" + ((Integer) p).intValue();
        } else if (p instanceof String && marked) {
            return (String) p;
        }
        return "?";
    }

    Objects twin() {
        try {
            Objects twin = (Objects) clone();
            twin.stamp ^= key;
            return twin;
        } catch (CloneNotSupportedException e) {
            throw new AssertionError(e);
        }
    }

    @Override
    public int compareTo(Objects other) {
        return key < other.key ? -1 : key == other.key ? 0 : 1;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Objects && ((Objects) other).key == key;
    }

    @Override
    public int hashCode() {
        return key * 31;
    }
}
