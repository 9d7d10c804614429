import java.util.HashMap;
import java.util.Map;

/** Allocates small objects, strings and arrays, most of which die at once. Prints the nanoseconds of a round. */
public class Churn {
    static Object sink;

    static int round(int seed, Map<Integer, String> map) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 20; i++) {
            text.append(seed + i).append(',');
        }
        int[] numbers = new int[64 + (seed & 63)];
        sink = numbers;
        map.put(seed & 1023, text.toString());
        return map.size() + numbers.length;
    }

    public static void main(String[] args) {
        int rounds = Integer.parseInt(args[0]);
        Map<Integer, String> map = new HashMap<>();
        int sum = 0;
        long best = Long.MAX_VALUE;
        for (int pass = 0; pass < 12; pass++) {
            long start = System.nanoTime();
            for (int i = 0; i < rounds; i++) {
                sum += round(i, map);
            }
            if (pass >= 4) {
                best = Math.min(best, System.nanoTime() - start);
            }
        }
        System.out.println("RESULT " + (double) best / rounds + (sum == 0 ? " 0" : ""));
    }
}
