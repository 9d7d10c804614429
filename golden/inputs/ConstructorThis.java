// javac 17 flags: -g
/** A constructor that calls another one of its class. */
public class ConstructorThis {
    final int sum;

    ConstructorThis(int a, int b) {
        sum = a + b;
    }

    ConstructorThis(int a) {
        this(a, a > 2 ? a : -a);
    }

    public static Object run() {
        return new ConstructorThis(3).sum + "," + new ConstructorThis(2).sum;
    }
}
