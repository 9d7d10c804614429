package heap;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Keeps an object of every kind that a dump can contain, prints a line, and waits until its standard input ends. */
public final class Walked {
    interface Above {
        int[] FIRST = {1, 2};
        long SECOND = Long.parseLong("2");
    }

    interface Below extends Above {
        Object THIRD = new Object();
    }

    static class Base implements Below {
        static int count = 3;
        boolean yes = true;
        byte small = -7;
        Object nothing;
        char letter = '\u6728';
        Object other;
    }

    static final class Derived extends Base implements Above {
        static String said = "said";
        short number = -12345;
        int larger = 0x01234567;
        static double half = 0.5;
        long largest = 0x0123456789abcdefL;
        float third = 1 / 3f;
        double tenth = 0.1;
        Object self = this;
        Object[] holes = {null, "one", null, null, this, null};
    }

    enum Colour { RED, GREEN }

    static final class Chain {
        final Object load;
        final Chain next;

        Chain(Object load, Chain next) {
            this.load = load;
            this.next = next;
        }
    }

    static final class Local {
        int number = 17;
    }

    static final Map<String, Object> MAP = new HashMap<>();
    static final List<Object> LIST = new ArrayList<>();
    static Chain chain;
    static Throwable thrown = new IllegalStateException("thrown");
    static Object[] arrays = {
        new boolean[] {true, false, true},
        new byte[] {1, -1, 0},
        new char[] {'a', '\uffff'},
        new short[] {1, -2, 300},
        new int[] {1, -2, 70_000},
        new long[] {1, -2, 5_000_000_000L},
        new float[] {1.5f, -0f},
        new double[] {2.5, Double.NaN},
        new int[0],
        new Object[0],
        new String[2][3],
        new int[][] {{1}, null, {2, 3}},
        Colour.values(),
        int.class,
        Base.class,
    };

    public static void main(String[] arguments) throws Exception {
        Derived derived = new Derived();
        derived.other = new Derived();
        LIST.add(derived);
        for (int i = 0; i < 300; i++) {
            // concat is used instead of the operator `+`, whose call site would make objects of its own.
            MAP.put("key ".concat(String.valueOf(i)), i % 2 == 0 ? (Object) (i * 1000L) : new int[i]);
            chain = new Chain(new byte[i], chain);
        }
        // One array is longer than a tag can express; the other has the greatest length that fits.
        LIST.add(new Object[(1 << 18) - 1]);
        LIST.add(new Object[(1 << 18) - 2]);
        Object[] many = new Object[300_000];
        for (int i = 0; i < many.length; i += 10) {
            many[i] = derived;
        }
        LIST.add(many);
        long[] large = new long[300_000];
        for (int i = 0; i < large.length; i++) {
            large[i] = i * 0x0101_0101_0101L;
        }
        LIST.add(large);
        Thread other = new Waiting();
        other.setDaemon(true);
        other.start();
        while (other.getState() != Thread.State.WAITING) {
            Thread.yield();
        }
        System.out.println("waiting");
        // Waits until standard input ends, so that the program never outlives its test.
        System.exit(System.in.read() < 0 ? 0 : 1);
    }

    /** A class instead of a lambda: JVM TI does not report the objects that a lambda's call site keeps alive. */
    static final class Waiting extends Thread {
        @Override
        public void run() {
            waiting(new Local());
        }
    }

    private static void waiting(Local local) {
        synchronized (Colour.RED) {
            try {
                Colour.RED.wait();
            } catch (InterruptedException interrupted) {
                System.out.println(local.number);
            }
        }
    }
}
