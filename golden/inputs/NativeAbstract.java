// javac 17 flags: -g
/** Native and abstract methods, and a method with code. */
public abstract class NativeAbstract {
    abstract int open(long wide);

    static native int elsewhere(String text);

    final double with(double value) {
        return value / 3;
    }

    public static Object run() {
        NativeAbstract one = new NativeAbstract() {
            @Override
            int open(long wide) {
                return (int) wide;
            }
        };
        String text = one.open(7) + "," + one.with(1.5);
        try {
            return text + elsewhere(text);
        } catch (UnsatisfiedLinkError e) {
            return text + " unlinked";
        }
    }
}
