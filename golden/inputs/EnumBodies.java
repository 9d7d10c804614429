// javac 17 flags: -g
/** An enum with fields, constructors and constants with bodies. */
public enum EnumBodies {
    ONE(1),
    TWO(2) {
        @Override
        int value() {
            return super.value() * 10;
        }
    };

    private final int number;

    EnumBodies(int number) {
        this.number = number;
    }

    int value() {
        return number;
    }

    public static Object run() {
        return valueOf("ONE").value() + "," + TWO.value() + "," + values().length;
    }
}
