import java.util.ArrayList;
import java.util.List;

/** Makes calls and objects that an agent must count alike through JVM TI and through JVMPI. */
public final class DoubleAgent {
    static final class Kept {
        final int[] numbers;

        Kept(int size) {
            numbers = new int[size];
            numbers[0] = size;
        }
    }

    static final class Enough extends RuntimeException {
        Enough() {
            super(null, null, false, false);
        }
    }

    static final class Worker extends Thread {
        final List<Kept> kept = new ArrayList<>();

        Worker(String name) {
            super(name);
        }

        @Override
        public void run() {
            for (int i = 0; i < 500; i++) {
                Kept made = make(1 + i % 7);
                if (i % 5 == 0) {
                    kept.add(made);
                }
            }
        }
    }

    static final List<Worker> WORKERS = new ArrayList<>();
    static long sum;

    static Kept make(int size) {
        return new Kept(size);
    }

    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static void descend(int n) {
        if (n == 0) {
            throw new Enough();
        }
        try {
            descend(n - 1);
        } catch (Enough enough) {
            sum += n;
            throw n % 3 == 0 ? new Enough() : enough;
        }
    }

    public static void main(String[] args) throws Exception {
        sum += fib(18);
        for (int i = 0; i < 200; i++) {
            try {
                descend(10);
            } catch (Enough enough) {
                sum++;
            }
        }
        for (int i = 0; i < 3; i++) {
            Worker worker = new Worker("worker-" + i);
            WORKERS.add(worker);
            worker.start();
        }
        for (Worker worker : WORKERS) {
            worker.join();
        }
        System.out.println(sum);
    }
}
