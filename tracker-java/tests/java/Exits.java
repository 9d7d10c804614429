/** Leaves methods in every way. */
public class Exits {
    private static int sink;

    public static void main(String[] args) {
        for (int i = 0; i < 1000; i++) {
            returns(i);
            if (i % 2 == 0) {
                try {
                    throwing();
                } catch (IllegalStateException e) {
                    behind();
                }
            }
            inside(i % 10 == 0 ? null : "x");
            try {
                passing();
            } catch (IllegalStateException e) {
                behind();
            }
            new Exits().locked(i);
            cleaning();
        }
        leaf();
    }

    static int returns(int i) {
        if (i % 3 == 0) {
            return leaf();
        }
        return i;
    }

    static int leaf() {
        return sink++;
    }

    static void throwing() {
        throw new IllegalStateException();
    }

    /** Catches an implicit exception in the method that caused it. */
    static void inside(String text) {
        try {
            sink += text.length();
        } catch (NullPointerException e) {
            behind();
        }
    }

    /** Lets an exception of a method that it called pass. */
    static void passing() {
        throwing();
        leaf();
    }

    synchronized void locked(int i) {
        if (i % 5 == 0) {
            return;
        }
        try {
            synchronized (this) {
                throwing();
            }
        } catch (IllegalStateException e) {
            leaf();
        }
    }

    static void cleaning() {
        try {
            try {
                throwing();
            } finally {
                leaf();
            }
        } catch (RuntimeException e) {
            leaf();
        }
    }

    static void behind() {
        sink++;
    }
}
