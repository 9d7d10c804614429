import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Takes SIGPROF, which profilers use, while it is sampled, and raises it. After the sampler had time to change to
 * another signal, prints how many signals were raised and how many the handler saw.
 */
public class SampledSignals {
    static final AtomicInteger SEEN = new AtomicInteger();
    static volatile long sink;

    static void burn(long millis) {
        long end = System.nanoTime() + millis * 1000000;
        while (System.nanoTime() - end < 0) {
            for (int i = 0; i < 10000; i++) {
                sink += i;
            }
        }
    }

    public static void main(String[] args) throws Exception {
        // Use reflection, since not every runtime has the module.
        Class<?> signal = Class.forName("sun.misc.Signal");
        Class<?> handler = Class.forName("sun.misc.SignalHandler");
        InvocationHandler count = (proxy, method, arguments) -> {
            SEEN.incrementAndGet();
            return null;
        };
        Object counting = Proxy.newProxyInstance(handler.getClassLoader(), new Class<?>[] {handler}, count);
        Object prof = signal.getConstructor(String.class).newInstance("PROF");
        signal.getMethod("handle", signal, handler).invoke(null, prof, counting);
        // First wait for signals of the sampler that are still under way.
        int before;
        int rounds = 0;
        do {
            before = SEEN.get();
            burn(700);
        } while (SEEN.get() != before && ++rounds < 50);
        for (int i = 0; i < 5; i++) {
            signal.getMethod("raise", signal).invoke(null, prof);
        }
        long deadline = System.nanoTime() + 60_000_000_000L;
        while (SEEN.get() - before < 5 && System.nanoTime() - deadline < 0) {
            Thread.sleep(10);
        }
        burn(300);
        System.out.println("seen " + (SEEN.get() - before));
    }
}
