/**
 * Threads that fight for locks, in as many rounds as the first argument says, with as many locks as the second. With a
 * third argument, the threads are virtual. A judge learns from the entries of `hold` in which order the threads own a
 * lock.
 */
public class JudgedHot {
    static final int FIGHTERS = 4;

    static volatile int sink;

    static class Lock {
        int holds;

        /** Comes to the lock, which it may find owned, and owns it for some microseconds. */
        void fight() {
            synchronized (this) {
                hold();
            }
        }

        void hold() {
            holds++;
            for (int i = 0; i < 2000; i++) {
                sink = i;
            }
        }
    }

    static class Fighter implements Runnable {
        final Lock[] locks;
        final int rounds;

        Fighter(Lock[] locks, int rounds) {
            this.locks = locks;
            this.rounds = rounds;
        }

        @Override
        public void run() {
            for (int i = 0; i < rounds; i++) {
                locks[i % locks.length].fight();
            }
            end();
        }

        /** Tells the judge that this thread does not come to a lock any more. */
        static void end() {}
    }

    public static void main(String[] args) throws Exception {
        int rounds = Integer.parseInt(args[0]);
        Lock[] locks = new Lock[Integer.parseInt(args[1])];
        for (int i = 0; i < locks.length; i++) {
            locks[i] = new Lock();
        }
        boolean isVirtual = args.length > 2 && JudgedVirtual.hasVirtualThreads();
        Thread[] fighters = new Thread[FIGHTERS];
        for (int i = 0; i < FIGHTERS; i++) {
            Fighter fighter = new Fighter(locks, rounds);
            if (isVirtual) {
                fighters[i] = JudgedVirtual.start("fighter", fighter);
            } else {
                fighters[i] = new Thread(fighter, "fighter");
                fighters[i].start();
            }
        }
        int holds = 0;
        for (Thread fighter : fighters) {
            fighter.join();
        }
        for (Lock lock : locks) {
            holds += lock.holds;
        }
        System.out.println("total holds " + holds);
    }
}
