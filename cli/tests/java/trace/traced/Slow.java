package traced;

import java.util.concurrent.locks.LockSupport;

/** Calls slow, fast, failing and recursive methods again and again until standard input ends. */
public final class Slow {
    static volatile int sum;

    static class Base {
        Base(boolean fails) {
            if (fails) {
                throw new IllegalStateException("secret");
            }
        }
    }

    static final class Made extends Base {
        Made(boolean fails) {
            super(fails);
            pause(25);
        }
    }

    static final class Named {
        boolean check(float share) {
            pause(20);
            if (share > 1) {
                throw new IllegalStateException("secret");
            }
            return true;
        }

        @Override
        public String toString() {
            deep(0);
            return "named\nobject";
        }
    }

    static final class Failing {
        @Override
        public String toString() {
            throw new IllegalStateException("secret");
        }
    }

    static String login(String user, String password, int[] data, boolean isNew, char letter, long number,
            Object named, Object failing) {
        pause(20);
        user = null;
        return user + number;
    }

    static void pause(int millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static int handle(int number) {
        query(number);
        return fast(number) + fast(number + 1);
    }

    static void query(int number) {
        pause(30);
    }

    static int fast(int number) {
        return number * 31;
    }

    static void deep(int depth) {
        if (depth == 0) {
            pause(20);
        } else {
            deep(depth - 1);
        }
    }

    static void outer() {
        middle();
    }

    static void middle() {
        try {
            inner();
        } finally {
            sum++;
        }
    }

    static void inner() {
        throw new UnsupportedOperationException("secret");
    }

    /** Has a long, a double and a loop, so that the frames of the method have wide locals. */
    static long wide(long number, double factor) {
        long result = number;
        for (int i = 0; i < 10; i++) {
            double half = factor / 2;
            result += (long) half;
        }
        return result;
    }

    static void round() {
        handle(sum);
        deep(3);
        new Made(false);
        char[] long_ = new char[100];
        java.util.Arrays.fill(long_, 'u');
        login(new String(long_), "open sesame", new int[3], true, 'z', -7, new Named(), new Failing());
        new Named().check(0.5f);
        for (Runnable failing : new Runnable[] {() -> new Made(true), Slow::outer}) {
            try {
                failing.run();
            } catch (IllegalStateException | UnsupportedOperationException e) {
                sum++;
            }
        }
    }

    static void loop() {
        while (true) {
            round();
            startVirtual(() -> handle(1));
        }
    }

    static void startVirtual(Runnable body) {
        try {
            Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, body);
        } catch (ReflectiveOperationException e) {
            // JDK 17 and earlier have no virtual threads.
            sum++;
        }
    }

    static void busy() {
        while (true) {
            for (int i = 0; i < 1000; i++) {
                sum += fast(sum) + (int) wide(sum, 3.0);
            }
            LockSupport.parkNanos(5_000_000);
        }
    }

    static void start(Runnable body, String name) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
    }

    public static void main(String[] arguments) throws Exception {
        start(Slow::loop, "looping");
        for (int i = 0; i < 16; i++) {
            start(Slow::busy, "busy");
        }
        System.out.println("waiting");
        System.exit(System.in.read() < 0 ? 0 : 1);
    }
}
