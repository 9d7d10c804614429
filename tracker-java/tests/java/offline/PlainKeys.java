/** Makes objects whose constructors throw. This class has no probes. */
public class PlainKeys {
    public static void main(String[] args) {
        for (int n = 0; n < 40; n++) {
            try {
                make(n % 4);
            } catch (IllegalStateException e) {
                Keys.behind();
            }
        }
    }

    private static Object make(int which) {
        switch (which) {
            case 0:
                return new Keys.B();
            case 1:
                return new Keys.E();
            case 2:
                return new Keys.F();
            default:
                return new Keys.H();
        }
    }
}
