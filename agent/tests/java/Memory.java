import java.util.ArrayList;
import java.util.List;

/** Methods that make the tracker grow, in a small heap. */
public final class Memory {
    static final List<byte[]> HELD = new ArrayList<>();

    static void leaf() {
    }

    // Many paths to the same methods. Each path is a node of the tree.

    static void a(int path, int depth) {
        descend(path, depth);
    }

    static void b(int path, int depth) {
        descend(path, depth);
    }

    static void c(int path, int depth) {
        descend(path, depth);
    }

    static void d(int path, int depth) {
        descend(path, depth);
    }

    static void e(int path, int depth) {
        descend(path, depth);
    }

    static void f(int path, int depth) {
        descend(path, depth);
    }

    static void g(int path, int depth) {
        descend(path, depth);
    }

    static void h(int path, int depth) {
        descend(path, depth);
    }

    private static void descend(int path, int depth) {
        if (depth == 0) {
            leaf();
            return;
        }
        switch (path & 7) {
            case 0: a(path >>> 3, depth - 1); break;
            case 1: b(path >>> 3, depth - 1); break;
            case 2: c(path >>> 3, depth - 1); break;
            case 3: d(path >>> 3, depth - 1); break;
            case 4: e(path >>> 3, depth - 1); break;
            case 5: f(path >>> 3, depth - 1); break;
            case 6: g(path >>> 3, depth - 1); break;
            default: h(path >>> 3, depth - 1); break;
        }
    }

    static int deep(int n) {
        return n == 0 ? 0 : 1 + deep(n - 1);
    }

    /** Runs the paths, the recursion and the threads while the heap is nearly full. */
    static int work() throws InterruptedException {
        int sum = 0;
        for (int path = 0; path < 1 << 15; path++) {
            a(path, 5);
        }
        sum += deep(2000);
        for (int i = 0; i < 50; i++) {
            Thread thread = new Thread(() -> a(1, 5));
            thread.start();
            thread.join();
        }
        return sum;
    }

    static void fill(long most) {
        Runtime runtime = Runtime.getRuntime();
        while (runtime.totalMemory() - runtime.freeMemory() < most) {
            HELD.add(new byte[50000]);
        }
    }

    /** Allocates until the heap is full. */
    static void exhaust() {
        try {
            while (true) {
                HELD.add(new byte[1000]);
                leaf();
            }
        } catch (OutOfMemoryError e) {
            leaf();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        if (args[0].equals("nearly")) {
            fill(Runtime.getRuntime().maxMemory() / 100 * 90);
            System.out.println(work());
        } else {
            exhaust();
            // The tracker must not take the megabytes that are free now.
            int kept = HELD.size() - 6000;
            while (HELD.size() > kept) {
                HELD.remove(HELD.size() - 1);
            }
            System.out.println(work());
            exhaust();
            HELD.clear();
            System.out.println(work());
        }
    }
}
