import java.lang.instrument.Instrumentation;
import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.TreeMap;
import java.util.function.IntFunction;
import java.util.function.Supplier;

/**
 * Allocates in Work and its nested classes, and records what each line made: its stack (by StackWalker) and bytes (by
 * Instrumentation). One line makes one type.
 */
public class Allocations {
    static Instrumentation instrumentation;

    public static void premain(String args, Instrumentation given) {
        instrumentation = given;
    }

    public static void main(String[] args) throws Exception {
        Work.all();
        List<String> asked = Arrays.asList(args);
        if (asked.contains("retransformed")) {
            instrumentation.retransformClasses(Work.class, Small.class, Fields.class, WorkChild.class);
            Work.all();
        }
        Thread[] threads = new Thread[6];
        for (int at = 0; at < threads.length; at++) {
            threads[at] = new Thread(Work::all, "worker-" + at);
            threads[at].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (asked.contains("virtual")) {
            List<Thread> virtual = new ArrayList<>();
            for (int at = 0; at < 50; at++) {
                Runnable task = Work::few;
                virtual.add((Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task));
            }
            for (Thread thread : virtual) {
                thread.join();
            }
        }
        Book.print();
    }

    /** This class is not instrumented. */
    static class Book {
        private static final TreeMap<String, long[]> ENTRIES = new TreeMap<>();

        static void note(Object made) {
            note(made, 1);
        }

        static void noteAs(String method, Object made) {
            note(method, made, 1);
        }

        static void note(Object made, long times) {
            note(null, made, times);
        }

        private static void note(String method, Object made, long times) {
            StringBuilder key = new StringBuilder();
            StackWalker.getInstance().forEach(frame -> {
                if (frame.getClassName().startsWith("Allocations$Work")) {
                    boolean first = key.length() == 0;
                    key.append(first ? "" : " < ").append(frame.getClassName()).append('.');
                    key.append(first && method != null ? method : frame.getMethodName());
                    key.append(first ? ":" + frame.getLineNumber() : "");
                }
            });
            key.append('\t').append(made.getClass().getTypeName());
            synchronized (ENTRIES) {
                add(made, times, ENTRIES.computeIfAbsent(key.toString(), any -> new long[2]), made.getClass());
            }
        }

        /** Records an object with the arrays in it that the same instruction has made. Elements are null if it made none. */
        private static void add(Object made, long times, long[] entry, Class<?> type) {
            entry[0] += times;
            entry[1] += times * instrumentation.getObjectSize(made);
            if (type.isArray() && type.getComponentType().isArray()) {
                for (int at = 0; at < Array.getLength(made); at++) {
                    Object inner = Array.get(made, at);
                    if (inner != null) {
                        add(inner, times, entry, inner.getClass());
                    }
                }
            }
        }

        static void print() {
            ENTRIES.forEach((key, entry) -> System.out.println("MADE\t" + key + "\t" + entry[0] + "\t" + entry[1]));
        }
    }

    static class Work {
        static Object sink;

        static void all() {
            few();
            primitives();
            references();
            dimensions();
            failures();
            constructors();
            lambdas();
            hot();
            one();
            two();
        }

        static void few() {
            Book.note(new Object());
            Book.note(new Fields());
            Book.note(new byte[5]);
            sink = trivial();
            tell(sink);
        }

        // Both methods are in one line: trivial must contain no call, so tell reports its allocation, and Book notes the line.
        static Object trivial() { return new short[3]; } static void tell(Object made) { Book.noteAs("trivial", made); }

        static void primitives() {
            for (int length = 0; length < 70; length++) {
                Book.note(new boolean[length]);
                Book.note(new byte[length]);
                Book.note(new char[length]);
                Book.note(new short[length]);
                Book.note(new int[length]);
                Book.note(new float[length]);
                Book.note(new long[length]);
                Book.note(new double[length]);
            }
            Book.note(new byte[100001]);
        }

        static void references() {
            for (int length = 0; length < 70; length++) {
                Book.note(new String[length]);
                Book.note(new Fields[length]);
                Book.note(new int[length][]);
                Book.note(new Object[length][][]);
            }
        }

        static void dimensions() {
            for (int a = 0; a < 4; a++) {
                for (int b = 0; b < 4; b++) {
                    Book.note(new int[a][b]);
                    Book.note(new byte[a][b][]);
                    Book.note(new String[b][a]);
                    Book.note(new long[a][b][3]);
                    Book.note(new boolean[2][a][b][17]);
                    Book.note(new Object[a][b][5][]);
                    Book.note(new char[3][2][b][a][9]);
                }
            }
        }

        static void failures() {
            for (int length = -3; length < 2; length++) {
                try {
                    Book.note(new int[length]);
                    Book.note(new Object[length]);
                    Book.note(new double[4][length]);
                } catch (NegativeArraySizeException expected) {
                    sink = null;
                }
            }
            try {
                Book.note(new long[Integer.MAX_VALUE - 8]);
            } catch (OutOfMemoryError expected) {
                sink = null;
            }
            try {
                Book.note(new long[20][Integer.MAX_VALUE - 8]);
            } catch (OutOfMemoryError expected) {
                sink = null;
            }
        }

        static void constructors() {
            for (int at = 0; at < 10; at++) {
                Object child = new WorkChild(at); Book.note(child);
                try {
                    new Thrower();
                } catch (IllegalStateException expected) {
                    Book.note(new int[1]);
                }
            }
        }

        static void lambdas() {
            Supplier<Object> objects = () -> {
                Object made = new Small(); Book.note(made);
                return made;
            };
            IntFunction<int[]> ints = length -> {
                int[] made = new int[length]; Book.note(made);
                return made;
            };
            for (int at = 0; at < 30; at++) {
                sink = objects.get();
                sink = ints.apply(at);
            }
        }

        static void hot() {
            for (int at = 0; at < 30000; at++) sink = new Fields(); Book.note(new Fields(), 30001);
            for (int at = 0; at < 30000; at++) sink = new char[11]; Book.note(new char[11], 30001);
            for (int at = 0; at < 3000; at++) sink = new float[3][5]; Book.note(new float[3][5], 3001);
        }

        static void one() {
            shared();
        }

        static void two() {
            shared();
            shared();
        }

        static void shared() {
            Book.note(new Small());
        }
    }

    static class Small {
    }

    static class Fields {
        long a;
        byte b;
        Object c;
    }

    static class Thrower {
        Thrower() {
            Book.note(this);
            throw new IllegalStateException();
        }
    }

    static class Parent {
        Parent(int[] taken) {
            Book.note(taken);
        }
    }

    static class WorkChild extends Parent {
        WorkChild(int length) {
            super(new int[length]);
        }
    }
}
