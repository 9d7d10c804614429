import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Uses many parts of the class library, and prints results that are equal in every run. */
public final class Busy {
    public static void main(String[] args) throws Exception {
        TreeMap<String, Integer> counts = new TreeMap<>();
        for (int i = 0; i < 100_000; i++) {
            counts.merge("k" + i % 1000, 1, Integer::sum);
        }
        System.out.println(counts.hashCode());
        System.out.println(IntStream.range(0, 10_000).mapToObj(Integer::toString)
            .filter(s -> s.matches("\\d*7\\d*")).collect(Collectors.joining(",")).hashCode());
        System.out.println(threads());
        System.out.println(String.format("%.3f %s", Math.PI, LocalDate.of(2020, 1, 1).plusDays(100)));
        if (args.length != 0) {
            counters();
        }
    }

    private static int threads() throws InterruptedException {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<Integer>> results = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            int k = i;
            results.add(pool.submit(() -> {
                if (k % 7 == 0) {
                    throw new IllegalStateException("seventh " + k);
                }
                return k;
            }));
        }
        int sum = 0;
        for (Future<Integer> result : results) {
            try {
                sum += result.get();
            } catch (ExecutionException e) {
                sum -= e.getCause().getMessage().length();
            }
        }
        pool.shutdown();
        return sum;
    }

    /**
     * Compiled code must count as exactly as interpreted code. The loop makes two million objects; the rest of the
     * method makes nearly none.
     */
    private static void counters() throws Exception {
        java.lang.reflect.Field init = Class.forName("java.lang.$Loadhook").getField("init");
        long before = init.getLong(null);
        long sum = 0;
        for (int i = 0; i < 2_000_000; i++) {
            sum += new int[] {i}.length + new Busy().hashCode(i);
        }
        long made = init.getLong(null) - before;
        System.out.println("objects " + (made >= 2_000_000 && made < 2_000_100) + " " + sum);
        for (java.lang.reflect.Field field : init.getDeclaringClass().getFields()) {
            System.out.println(field.getName() + " " + (field.getLong(null) > 0));
        }
    }

    private int hashCode(int i) {
        return i & 1;
    }
}
