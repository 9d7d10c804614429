/**
 * Calls a million constructors whose super constructor throws, from an instrumented caller and from one that is not.
 */
public class FailingSuper {
    public static void main(String[] args) {
        instrumented();
        PlainCaller.run(1000000);
        leaf();
    }

    static void instrumented() {
        for (int i = 0; i < 1000000; i++) {
            try {
                new D();
            } catch (IllegalStateException e) {
                leaf();
            }
        }
    }

    static void leaf() {
    }

    static class B {
        static final IllegalStateException FAILURE = new IllegalStateException();

        B() {
            throw FAILURE;
        }
    }

    static class D extends B {
    }

    static class PlainCaller {
        static void run(int times) {
            for (int i = 0; i < times; i++) {
                try {
                    new D();
                } catch (IllegalStateException e) {
                    continue;
                }
            }
        }
    }
}
