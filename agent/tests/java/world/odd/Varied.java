import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** A class with every kind of structure, whose bytes the tests damage. */
public class Varied {
    private final List<Object> kept = new ArrayList<>();
    private final long number;

    Varied(long number) {
        this(number, number > 5 ? "many" : "few");
    }

    Varied(long number, String text) {
        this.number = number;
        kept.add(text);
    }

    synchronized int choose(int i, String word) {
        switch (i) {
            case 1:
                return 1;
            case 2:
                return word.length();
            case 1000:
                return word.hashCode();
            default:
                break;
        }
        switch (word) {
            case "one":
                return 7;
            case "two":
                return 8;
            default:
                return 9;
        }
    }

    double loop(double[] values) {
        double sum = 0;
        for (double value : values) {
            if (value > 1.5 && value < number) {
                sum += Math.sqrt(value);
            } else if (value == 0) {
                continue;
            }
            sum -= (float) value;
        }
        return sum;
    }

    Object guarded(Object lock) {
        synchronized (lock) {
            try {
                return kept.get((int) number);
            } catch (IndexOutOfBoundsException e) {
                return e.getMessage();
            } finally {
                kept.add(lock);
            }
        }
    }

    Supplier<String> later(int[][] grid) {
        return () -> grid.length + "x" + number;
    }

    static Object make(int size) {
        Object[][] many = new Object[size][2];
        many[0][1] = new Varied(size).later(new int[3][4]);
        return many instanceof Object[] ? many : null;
    }
}
