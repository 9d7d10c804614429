import java.util.Map;
import java.util.TreeMap;

/**
 * A pseudo-random call graph with exits of every kind, run by several threads. The program counts
 * its calls itself, by caller and callee. Only {@code Methods} and its nested classes are
 * instrumented. The other classes count, and call randomly chosen methods.
 */
public final class RandomCalls {
    static final class Failure extends RuntimeException {
        Failure() {
            super(null, null, false, false);
        }
    }

    /**
     * The only exception that a super constructor throws. Only instrumented code catches it: docs/dev/tracker.md says
     * why.
     */
    static final class Unmade extends RuntimeException {
        Unmade() {
            super(null, null, false, false);
        }
    }

    /** The counters and random numbers of a thread. */
    static final class Dice {
        final Map<String, long[]> edges = new TreeMap<>();
        long state;
        int fuel;

        Dice(long seed) {
            state = seed;
        }

        /** Returns a random number from 0 to {@code sides} - 1. */
        int roll(int sides) {
            state = state * 6364136223846793005L + 1442695040888963407L;
            return (int) ((state >>> 33) % sides);
        }
    }

    /**
     * The path of a call: the methods that lead to it, each once. A recursive call goes back to the place of its
     * method, as in the profile. The path is handed down as an argument, so that no exit of any kind can leave it
     * wrong.
     */
    static final class Trail {
        final Trail above;
        final String method;
        final Dice dice;

        Trail(Trail above, String method, Dice dice) {
            this.above = above;
            this.method = method;
            this.dice = dice;
        }

        /** Each method calls this before anything else. */
        Trail enter(String callee) {
            Trail at = this;
            while (at.above != null && !at.method.equals(callee)) {
                at = at.above;
            }
            Trail trail = at.above != null ? at : new Trail(this, callee, dice);
            dice.edges.computeIfAbsent(trail.above.method + " > " + callee, edge -> new long[1])[0]++;
            return trail;
        }

        /** Calls one of the methods, from code that is not instrumented. */
        void call(int depth) {
            if (depth == 0 || dice.fuel-- <= 0) {
                return;
            }
            switch (dice.roll(14)) {
                case 0: Methods.plain(this, depth - 1); break;
                case 1: Methods.throwing(this, depth - 1); break;
                case 2: Methods.catching(this, depth - 1); break;
                case 3: Methods.cleaning(this, depth - 1); break;
                case 4: Methods.locking(this, depth - 1); break;
                case 5: Methods.locked(this, depth - 1); break;
                case 6: Methods.implicit(this, depth - 1); break;
                case 7: Methods.nested(this, depth - 1); break;
                case 8: Methods.making(this, depth - 1); break;
                case 9: Methods.direct(this, depth - 1); break;
                case 10: Methods.lambda(this, depth - 1).run(); break;
                case 11: Methods.reflected(this, depth - 1); break;
                case 12: catches(depth - 1); break;
                default: new Methods.Made(this, depth - 1); break;
            }
        }

        private void catches(int depth) {
            try {
                call(depth);
            } catch (Failure | NullPointerException | ArithmeticException e) {
                call(depth);
            }
        }
    }

    static final class Methods {
        /** Calls other methods until the fuel is used up, and catches what they throw. */
        static void top(Trail trail) {
            Trail here = trail.enter("Methods.top");
            while (here.dice.fuel > 0) {
                try {
                    here.call(9);
                } catch (RuntimeException e) {
                    here.dice.fuel--;
                }
            }
        }

        static void plain(Trail trail, int depth) {
            Trail here = trail.enter("Methods.plain");
            for (int i = here.dice.roll(4); i > 0; i--) {
                here.call(depth);
            }
        }

        static int throwing(Trail trail, int depth) {
            Trail here = trail.enter("Methods.throwing");
            here.call(depth);
            if (here.dice.roll(2) == 0) {
                throw new Failure();
            }
            return depth;
        }

        static long catching(Trail trail, int depth) {
            Trail here = trail.enter("Methods.catching");
            try {
                here.call(depth);
                here.call(depth);
            } catch (Failure | Unmade e) {
                here.call(depth);
                if (here.dice.roll(3) == 0) {
                    throw e;
                }
            }
            return depth;
        }

        static double cleaning(Trail trail, int depth) {
            Trail here = trail.enter("Methods.cleaning");
            try {
                here.call(depth);
                return 1;
            } finally {
                here.call(depth);
            }
        }

        static synchronized void locking(Trail trail, int depth) {
            trail.enter("Methods.locking").call(depth);
        }

        static void locked(Trail trail, int depth) {
            Trail here = trail.enter("Methods.locked");
            synchronized (here) {
                here.call(depth);
            }
        }

        static int implicit(Trail trail, int depth) {
            Trail here = trail.enter("Methods.implicit");
            here.call(depth);
            int which = here.dice.roll(6);
            Object nothing = which == 0 ? null : "";
            return nothing.hashCode() + 1 / (which == 1 ? 0 : 1);
        }

        static void nested(Trail trail, int depth) {
            Trail here = trail.enter("Methods.nested");
            try {
                try {
                    here.call(depth);
                } catch (ArithmeticException e) {
                    here.call(depth);
                    throw new Failure();
                } finally {
                    here.call(depth);
                }
            } catch (RuntimeException e) {
                here.call(depth);
            }
        }

        static Object making(Trail trail, int depth) {
            Trail here = trail.enter("Methods.making");
            for (int i = 0; i < 3; i++) {
                try {
                    return new Made(here, depth);
                } catch (Unmade e) {
                    here.call(depth);
                }
            }
            return null;
        }

        static void direct(Trail trail, int depth) {
            Trail here = trail.enter("Methods.direct");
            switch (here.dice.roll(4)) {
                case 0: plain(here, depth); break;
                case 1: throwing(here, depth); break;
                case 2: direct(here, depth); break;
                default: catching(here, depth); break;
            }
        }

        static Runnable lambda(Trail trail, int depth) {
            Trail above = trail;
            trail.enter("Methods.lambda");
            return () -> above.enter("Methods.lambda$lambda$0").call(depth);
        }

        static void reflected(Trail trail, int depth) {
            Trail here = trail.enter("Methods.reflected");
            try {
                METHOD.invoke(null, here, depth);
            } catch (java.lang.reflect.InvocationTargetException e) {
                if (e.getCause() instanceof Unmade) {
                    throw (Unmade) e.getCause();
                }
                here.call(depth);
            } catch (IllegalAccessException e) {
                throw new AssertionError(e);
            }
        }

        static class Base {
            Base(Trail trail, int depth) {
                Trail here = trail.enter("Methods$Base.<init>");
                try {
                    here.call(depth);
                } catch (RuntimeException e) {
                    throw new Unmade();
                }
                if (here.dice.roll(3) == 0) {
                    throw new Unmade();
                }
            }
        }

        static final class Made extends Base {
            Made(Trail trail, int depth) {
                super(trail = before(trail.enter("Methods$Made.<init>"), depth), depth);
                trail.call(depth);
                if (trail.dice.roll(4) == 0) {
                    throw new Failure();
                }
            }

            static Trail before(Trail trail, int depth) {
                Trail here = trail.enter("Methods$Made.before");
                if (here.dice.roll(4) == 0) {
                    throw new Failure();
                }
                return trail;
            }
        }
    }

    static final java.lang.reflect.Method METHOD;

    static {
        try {
            METHOD = Methods.class.getDeclaredMethod("throwing", Trail.class, int.class);
        } catch (NoSuchMethodException e) {
            throw new AssertionError(e);
        }
    }

    static void run(Dice dice, int calls) {
        Trail outside = new Trail(null, "-", dice);
        for (int left = calls; left > 0; left -= 200) {
            dice.fuel = 200;
            Methods.top(outside);
        }
    }

    /** Arguments: seed, number of threads, calls of each thread. */
    public static void main(String[] args) throws InterruptedException {
        int threads = Integer.parseInt(args[1]);
        int calls = Integer.parseInt(args[2]);
        Dice[] dices = new Dice[threads];
        Thread[] running = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            Dice dice = dices[i] = new Dice(Long.parseLong(args[0]) * 1000 + i);
            running[i] = new Thread(() -> run(dice, calls), "random-" + i);
            running[i].start();
        }
        Map<String, Long> edges = new TreeMap<>();
        for (int i = 0; i < threads; i++) {
            running[i].join();
            dices[i].edges.forEach((edge, count) -> edges.merge(edge, count[0], Long::sum));
        }
        edges.forEach((edge, count) -> System.out.println(edge + " " + count));
    }
}
