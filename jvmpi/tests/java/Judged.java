import java.io.File;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.concurrent.locks.LockSupport;

/**
 * Does a known number of each thing that JVMPI reports, and prints these numbers for comparison with those of a judge
 * (`tests/agents`). With the property `judged.marker` it also asks the JVM for a thread dump while a monitor is
 * contended, and goes on when the file of that name exists.
 */
public class Judged {
    static final int FIRST_BRANCH = 4, LAST_BRANCH = 9;
    static final int CALLS = 1000, THROWS = 200, CONSTRUCTIONS = 100, WORKERS = 4, WORK = 500;
    static final int ROUNDS = 20, NOTIFIED = 10, TIMED = 5, SLEEPS = 3;
    static final int ITEMS = 1000, REFLECTED = 50, CLONES = 30, KEPT = 100, LARGE = 20, LARGE_LENGTH = 12345;
    static final int ITEM_ARRAYS = 10, LOADERS = 3, NODES = 10, COLLECTIONS = 3;

    static volatile int sink;
    static final Fault FAULT = new Fault();
    static final Item[] KEPT_ITEMS = new Item[KEPT];
    static Node nodes;
    static int waits;

    public static void main(String[] args) throws Throwable {
        calls();
        step(0);
        exceptions();
        constructors();
        overflow();
        step(1);
        threads();
        step(2);
        contention();
        Thread waiter = new Waiter();
        waiter.start();
        notifies();
        waiter.join();
        makesItems();
        reflects();
        clones();
        makesArrays();
        loads();
        nodes = chain();
        Statics.use();
        new Broken().print();
        System.out.println("text " + Rewritten.text());
        signals();
        virtualThreads();
        for (int i = 0; i < COLLECTIONS; i++) {
            System.gc();
        }
        JudgedNumbers.print();
    }

    // Methods

    static void calls() {
        for (int i = 0; i < CALLS; i++) {
            sink = leaf(i);
        }
        sink = recursive(10);
        for (int i = FIRST_BRANCH; i <= LAST_BRANCH; i++) {
            sink = branches(i);
        }
    }

    static int leaf(int i) {
        return i + 1;
    }

    /** The first jump is taken up to 6; the keys of the first switch are 5 to 8; the second has three pairs. */
    static int branches(int i) {
        int found = i > 6 ? 1 : 2;
        switch (i) {
            case 5:
                found += 10;
                break;
            case 6:
            case 7:
                found += 20;
                break;
            case 8:
                found += 30;
                break;
            default:
                found += 40;
        }
        switch (i * 1000) {
            case 5000:
                return found;
            case 7000:
                return -found;
            case 100_000:
                return 0;
            default:
                return 2 * found;
        }
    }

    static int recursive(int depth) {
        return depth == 0 ? 0 : 1 + recursive(depth - 1);
    }

    static void exceptions() {
        for (int i = 0; i < THROWS; i++) {
            catches();
        }
    }

    static void catches() {
        try {
            passes();
        } catch (Fault fault) {
            after();
        }
    }

    static void passes() {
        throwsAlways();
        sink = 1;
    }

    static void throwsAlways() {
        throw new Fault();
    }

    static void after() {
        sink = 2;
    }

    static class Fault extends RuntimeException {
        Fault() {
            super(null, null, false, false);
        }
    }

    /** Half of these constructors end by an exception before they call the superclass's constructor. */
    static void constructors() {
        for (int i = 0; i < CONSTRUCTIONS; i++) {
            try {
                new Failing(i);
            } catch (Fault fault) {
                after();
            }
        }
    }

    static class Base {
        Base(int i) {
            sink = i;
        }
    }

    static class Failing extends Base {
        Failing(int i) {
            super(check(i));
        }

        static int check(int i) {
            if (i % 2 == 0) {
                throw FAULT;
            }
            return i;
        }
    }

    static void overflow() {
        try {
            deep(0);
        } catch (StackOverflowError error) {
            afterOverflow();
        }
    }

    static int deep(int i) {
        return deep(i + 1) + 1;
    }

    static void afterOverflow() {
        sink = 3;
    }

    /** Each step loads a class on a line of its own. */
    static void step(int i) {
        if (i == 0) {
            sink = Before.number;
        } else if (i == 1) {
            sink = Between.number;
        } else {
            sink = After.number;
        }
    }

    static class Before {
        static int number = 1;
    }

    static class Between {
        static int number = 2;
    }

    static class After {
        static int number = 3;
    }

    // Threads and monitors

    static class Worker extends Thread {
        Worker(int i) {
            super("worker-" + i);
        }

        @Override
        public void run() {
            for (int i = 0; i < WORK; i++) {
                work();
            }
        }

        static void work() {
            sink = 4;
        }
    }

    static void threads() throws InterruptedException {
        Worker[] workers = new Worker[WORKERS];
        for (int i = 0; i < WORKERS; i++) {
            workers[i] = new Worker(i);
            workers[i].start();
        }
        for (Worker worker : workers) {
            worker.join();
        }
    }

    static class Lock {}

    static class Contender extends Thread {
        final Lock lock;

        Contender(Lock lock) {
            super("contender");
            this.lock = lock;
        }

        @Override
        public void run() {
            synchronized (lock) {
                sink = 5;
            }
        }
    }

    static void contention() throws InterruptedException {
        Lock lock = new Lock();
        for (int i = 0; i < ROUNDS; i++) {
            Contender contender = new Contender(lock);
            synchronized (lock) {
                contender.start();
                awaitBlocked(contender);
                // The JVM shows a thread as blocked a moment before it reports this to the profilers. If the lock is
                // left in that moment, the report names no thread that held it.
                LockSupport.parkNanos(10_000_000);
            }
            contender.join();
        }
    }

    static void awaitBlocked(Thread thread) {
        while (thread.getState() != Thread.State.BLOCKED) {
            Thread.onSpinWait();
        }
    }

    static class Condition {}

    static final Condition CONDITION = new Condition();
    static int turn;
    static boolean isWaiting;

    static class Waiter extends Thread {
        Waiter() {
            super("waiter");
        }

        @Override
        public void run() {
            try {
                synchronized (CONDITION) {
                    for (int i = 1; i <= NOTIFIED; i++) {
                        isWaiting = true;
                        while (turn < i) {
                            waits++;
                            CONDITION.wait();
                        }
                    }
                    for (int i = 0; i < TIMED; i++) {
                        waits++;
                        CONDITION.wait(5);
                    }
                }
                for (int i = 0; i < SLEEPS; i++) {
                    sleep(2);
                }
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    static void notifies() {
        for (int i = 0; i < NOTIFIED; ) {
            synchronized (CONDITION) {
                if (isWaiting) {
                    isWaiting = false;
                    turn = ++i;
                    CONDITION.notifyAll();
                }
            }
            Thread.yield();
        }
    }

    static void signals() throws Exception {
        String marker = System.getProperty("judged.marker");
        if (marker == null) {
            return;
        }
        Lock lock = new Lock();
        Contender contender = new Contender(lock);
        synchronized (lock) {
            contender.start();
            awaitBlocked(contender);
            String pid = Long.toString(ProcessHandle.current().pid());
            new ProcessBuilder("kill", "-QUIT", pid).inheritIO().start().waitFor();
            for (int i = 0; i < 6000 && !new File(marker).exists(); i++) {
                Thread.sleep(10);
            }
        }
        contender.join();
    }

    static class SharedLock {}

    /** Virtual threads contend for a monitor and wait in it, if the property `judged.virtual` is set and there are some. */
    static void virtualThreads() throws Exception {
        if (System.getProperty("judged.virtual") == null) {
            return;
        }
        Method start;
        try {
            start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        } catch (NoSuchMethodException olderJdk) {
            return;
        }
        SharedLock lock = new SharedLock();
        Runnable shares = () -> {
            for (int i = 0; i < 5; i++) {
                synchronized (lock) {
                    try {
                        lock.wait(1);
                        Thread.sleep(1);
                    } catch (InterruptedException e) {
                        throw new AssertionError(e);
                    }
                }
            }
        };
        Thread[] threads = new Thread[10];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = (Thread) start.invoke(null, shares);
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    // Objects and classes

    static class Item implements Cloneable {
        int number;
        Object other;

        Item copy() throws CloneNotSupportedException {
            return (Item) clone();
        }
    }

    static void makesItems() {
        for (int i = 0; i < ITEMS; i++) {
            KEPT_ITEMS[i % KEPT] = new Item();
        }
    }

    static void reflects() throws ReflectiveOperationException {
        Constructor<Item> constructor = Item.class.getDeclaredConstructor();
        for (int i = 0; i < REFLECTED; i++) {
            sink = constructor.newInstance().number;
        }
    }

    static void clones() throws CloneNotSupportedException {
        for (int i = 0; i < CLONES; i++) {
            sink = KEPT_ITEMS[0].copy().number;
        }
    }

    static void makesArrays() {
        for (int i = 0; i < LARGE; i++) {
            sink = new int[LARGE_LENGTH].length;
        }
        for (int i = 0; i < ITEM_ARRAYS; i++) {
            sink = new Item[7].length;
        }
    }

    static class Loaded {
        static int value = 6;
    }

    static void loads() throws ReflectiveOperationException {
        for (int i = 0; i < LOADERS; i++) {
            sink = Class.forName("Judged$Loaded", true, new JudgedLoader()).getDeclaredFields().length;
        }
    }

    static class Origin {
        byte inherited = 7;
    }

    static class Node extends Origin {
        boolean flag = true;
        byte small = -2;
        char letter = 'j';
        short little = -300;
        int number;
        long wide = 0x0123456789ABCDEFL;
        float single = 1.5f;
        double twice = -2.5;
        Node next;
        int[] array = {1, 2, 0x600DCAFE};
        String text = "node";
    }

    static Node chain() {
        Node first = null;
        for (int i = 0; i < NODES; i++) {
            Node node = new Node();
            node.number = 0x600D0000 + i;
            node.next = first;
            first = node;
        }
        return first;
    }

    static class Statics implements Runnable, Cloneable {
        static boolean flag = true;
        static int marker = 0x600DF00D;
        static Object reference = new Node[] {null};
        static long wide = -1;
        static char letter = 's';
        int own = 8;

        static void use() {
            sink = new Statics().own;
            marker = 0x600DF00D;
        }

        @Override
        public void run() {}
    }

    static class Rewritten {
        static String text() {
            return "original text";
        }
    }

    static class Broken {
        void print() {
            try {
                System.out.println("broken " + Part.answer());
            } catch (LinkageError error) {
                System.out.println("broken " + error.getClass().getSimpleName());
            }
        }

        static class Part {
            static String answer() {
                return "no";
            }
        }
    }
}
