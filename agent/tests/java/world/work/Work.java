import java.lang.reflect.InvocationTargetException;

/** Makes known numbers of calls, and halfway runs the action that a property names. */
public final class Work {
    static int leaf(int i) {
        return Integer.toString(i).length();
    }

    static void branch(int i) {
        if (i % 4 == 0) {
            throw new IllegalStateException();
        }
        leaf(i);
    }

    static void round(int i) {
        try {
            branch(i);
        } catch (IllegalStateException e) {
            leaf(-i);
        }
    }

    static void rounds(int from, int to) {
        for (int i = from; i < to; i++) {
            round(i);
            if (i == to / 2 && from == 0) {
                midway();
            }
        }
    }

    static void midway() {
        String name = System.getProperty("world.midway");
        if (name != null) {
            call(name);
        }
    }

    static void call(String name) {
        try {
            Class.forName("AsmAgent").getMethod(name).invoke(null);
        } catch (InvocationTargetException e) {
            throw new IllegalStateException(e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    static final class Other extends Thread {
        @Override
        public void run() {
            rounds(1, 1001);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        rounds(0, 2000);
        Other other = new Other();
        other.start();
        other.join();
        if (System.getProperty("world.report") != null) {
            call("report");
        }
        System.out.println("worked");
        System.exit(3);
    }
}
