package heap;

import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;

/** Keeps objects of a class that two class loaders have loaded, a long list, and a thread with an object of its own. */
public class Leaking {
    static final List<Object> registry = new ArrayList<>();
    static Node chain;

    static final class Node {
        Node next;
    }

    /** An object that lives as long as its class loader. */
    public static class Plugin {
        static final byte[] cache = new byte[100_000];
    }

    /** An object to which only a local variable refers. */
    static final class Mine {}

    static final class Loader extends ClassLoader {
        Loader() {
            super(Leaking.class.getClassLoader());
        }

        Object plugin() throws Exception {
            try (InputStream in = Leaking.class.getResourceAsStream("Leaking$Plugin.class")) {
                byte[] bytes = in.readAllBytes();
                Class<?> type = defineClass("heap.Leaking$Plugin", bytes, 0, bytes.length);
                return type.getDeclaredConstructor().newInstance();
            }
        }
    }

    static void hold(Object mine, Object begun) throws InterruptedException {
        synchronized (begun) {
            begun.notify();
        }
        synchronized (mine) {
            mine.wait();
        }
    }

    public static void main(String[] arguments) throws Exception {
        for (int number = 0; number < 2; number++) {
            registry.add(new Loader().plugin());
        }
        for (int number = 0; number < 1000; number++) {
            Node node = new Node();
            node.next = chain;
            chain = node;
        }
        Object begun = new Object();
        Thread holder =
                new Thread(
                        () -> {
                            try {
                                hold(new Mine(), begun);
                            } catch (InterruptedException e) {
                                // The thread ends here.
                            }
                        },
                        "the holder");
        holder.setDaemon(true);
        synchronized (begun) {
            holder.start();
            begun.wait();
        }
        while (holder.getState() != Thread.State.WAITING) {
            Thread.sleep(1);
        }
        System.out.println("waiting");
        while (System.in.read() >= 0) {}
    }
}
