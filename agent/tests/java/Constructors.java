/**
 * Constructors that throw before, in and after {@code super(…)}. {@code Outside…} is not instrumented.
 */
public final class Constructors {
    static final int ROUNDS = 10000;
    static final int MANY = 1000000;

    static final RuntimeException NO = new IllegalStateException("no");

    static void leaf() {
    }

    static int even(int i) {
        if (i % 2 != 0) {
            throw NO;
        }
        return i;
    }

    static class Fine {
        Fine(int i) {
        }
    }

    static class Fails {
        Fails(int i) {
            even(i);
        }
    }

    static final class Before extends Fine {
        Before(int i) {
            super(even(i));
            leaf();
        }
    }

    static final class Perhaps extends Fine {
        Perhaps(int i) {
            super(i % 4 == 0 ? i : even(i));
            leaf();
        }
    }

    static class In extends Fails {
        In(int i) {
            super(i);
            leaf();
        }
    }

    static final class InTwice extends In {
        InTwice(int i) {
            super(i);
            leaf();
        }
    }

    static final class After extends Fine {
        After(int i) {
            super(i);
            leaf();
            even(i);
        }
    }

    static final class Field extends Fine {
        final int value = even(number);

        static int number;

        Field(int i) {
            super(number = i);
        }
    }

    static final class Delegates extends Fails {
        Delegates(int i, int more) {
            super(i + more);
        }

        Delegates(int i) {
            this(i, 2);
            leaf();
        }
    }

    static final class Inner extends Fine {
        Inner(int i) {
            super(caught(i));
            leaf();
        }

        /** Throws and catches an exception inside, while another constructor calls super. */
        static int caught(int i) {
            try {
                new In(i);
            } catch (IllegalStateException e) {
                leaf();
            }
            return i;
        }
    }

    static class Says {
        Says(int n) {
            if (n == 0) {
                throw NO;
            }
        }
    }

    /** Catches an exception that came from another instance's call of super. */
    static final class Same extends Says {
        Same(int n) {
            super(n);
            if (n > 0) {
                try {
                    new Same(0);
                } catch (IllegalStateException e) {
                    leaf();
                }
                leaf();
            }
        }
    }

    static class OutsideSays {
        OutsideSays(int n) {
            if (n == 0) {
                throw NO;
            }
        }
    }

    /** Like Same, but the superclass is not instrumented, so no probe reports that its constructor throws. */
    static final class Strict extends OutsideSays {
        Strict(int n) {
            super(n);
            if (n > 0) {
                try {
                    new Strict(0);
                } catch (IllegalStateException e) {
                    leaf();
                }
                leaf();
            }
        }
    }

    static class Deco {
        Deco(Object object) {
            if (object instanceof int[]) {
                even(((int[]) object)[0]);
            }
        }
    }

    /** The constructor makes another object in the arguments of {@code super(…)}. That object's constructor may throw. */
    static final class Wrap extends Deco {
        Wrap(Object object) {
            super(new Deco(object));
            leaf();
        }
    }

    static class OutsideCatches {
        OutsideCatches(int i) {
            try {
                new Fails(i);
            } catch (IllegalStateException e) {
                // The exception passes no instrumented code.
            }
            leaf();
        }
    }

    /** Continues after a constructor that it called has thrown while calling super. */
    static final class Through extends OutsideCatches {
        Through(int i) {
            super(i);
            leaf();
        }
    }

    static class AlwaysFails {
        AlwaysFails() {
            throw NO;
        }
    }

    static final class Always extends AlwaysFails {
    }

    static Object make(int kind, int i) {
        try {
            switch (kind) {
                case 0: return new Before(i);
                case 1: return new Perhaps(i);
                case 2: return new In(i);
                case 3: return new InTwice(i);
                case 4: return new After(i);
                case 5: return new Field(i);
                case 6: return new Delegates(i);
                case 7: return new Inner(i);
                case 8: return new Same(1);
                case 9: return new Strict(1);
                case 10: return new Wrap(new int[] {i});
                default: return new Through(i);
            }
        } catch (IllegalStateException e) {
            leaf();
            return null;
        }
    }

    static int inside() {
        int caught = 0;
        for (int i = 0; i < MANY; i++) {
            try {
                new Always();
            } catch (IllegalStateException e) {
                caught++;
            }
        }
        leaf();
        return caught;
    }

    /** Calls code that is not instrumented. What that code calls stands below this method. */
    static int outside() {
        int caught = Outside.many();
        leaf();
        return caught;
    }

    static void later() {
        leaf();
    }

    static final class Outside {
        static int many() {
            int caught = 0;
            for (int i = 0; i < MANY; i++) {
                try {
                    new Always();
                } catch (IllegalStateException e) {
                    caught++;
                }
            }
            return caught;
        }
    }

    public static void main(String[] args) {
        int made = 0;
        for (int i = 0; i < ROUNDS; i++) {
            for (int kind = 0; kind < 12; kind++) {
                made += make(kind, i) == null ? 0 : 1;
            }
        }
        int inside = inside();
        later();
        int outside = outside();
        later();
        System.out.println(made + " made, " + inside + " and " + outside + " caught");
    }
}
