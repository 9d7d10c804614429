// javac 17 flags: -g
/** Instance initialisers with loops and handlers, copied after each super call. */
public class ConstructorInitializers {
    final int[] cells = new int[3];
    int failures;

    {
        for (int i = 0; i <= cells.length; i++) {
            try {
                cells[i] = i;
            } catch (ArrayIndexOutOfBoundsException e) {
                failures++;
            }
        }
    }

    ConstructorInitializers() {
    }

    ConstructorInitializers(int extra) {
        failures += extra;
    }

    public static Object run() {
        return new ConstructorInitializers().failures + "," + new ConstructorInitializers(4).failures;
    }
}
