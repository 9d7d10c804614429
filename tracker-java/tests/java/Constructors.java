/** Constructors that throw before, in and after the call of super. */
public class Constructors {
    private static int sink;

    public static void main(String[] args) {
        for (int i = 0; i < 100; i++) {
            one(i);
        }
        plain();
        behind();
    }

    /** The end of this method repairs the path. Until then, the last failed constructor stays on the path. */
    static void plain() {
        Plain.run(100);
    }

    static void one(int i) {
        try {
            new Before(argument(true));
        } catch (IllegalStateException e) {
            behind();
        }
        try {
            new In();
        } catch (IllegalStateException e) {
            behind();
        }
        try {
            new After();
        } catch (IllegalStateException e) {
            behind();
        }
        new Fine();
        behind();
    }

    static int argument(boolean fine) {
        if (!fine) {
            throw new IllegalStateException();
        }
        return 1;
    }

    static void behind() {
        sink++;
    }

    static class Base {
        Base() {
        }

        Base(int i) {
            if (i == 0) {
                throw new IllegalStateException();
            }
        }
    }

    static class Before extends Base {
        Before(int i) {
            super(argument(false));
        }
    }

    static class In extends Base {
        In() {
            super(0);
        }
    }

    static class After extends Base {
        After() {
            super(1);
            throw new IllegalStateException();
        }
    }

    static class Fine extends Base {
    }

    /** This class is not instrumented, so no probe reports the end of its constructor. */
    static class Plain {
        static int caught;

        static void run(int times) {
            for (int i = 0; i < times; i++) {
                try {
                    new In();
                } catch (IllegalStateException e) {
                    caught++;
                }
            }
        }
    }
}
