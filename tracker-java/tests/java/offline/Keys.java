/** Constructors that throw. The keys of A, B and E are positive, those of D, F and H negative. */
public class Keys {
    static int behind;

    static void behind() {
        behind++;
    }

    static class A {
        A() {
            throw new IllegalStateException();
        }
    }

    static class B extends A {
    }

    static class F extends A {
    }

    static class D {
        D() {
            throw new IllegalStateException();
        }
    }

    static class E extends D {
    }

    static class H extends D {
    }
}
