import java.io.IOException;
import java.io.InputStream;

/** A thread waits for a monitor in a class whose loader another thread has locked. */
public final class HprofLoader {
    public static final class Task implements Runnable {
        private final Object lock;

        public Task(Object lock) {
            this.lock = lock;
        }

        @Override
        public void run() {
            synchronized (lock) {
            }
        }
    }

    static final class Loader extends ClassLoader {
        @Override
        protected synchronized Class<?> loadClass(String name, boolean resolve)
                throws ClassNotFoundException {
            if (!name.equals(Task.class.getName())) {
                return super.loadClass(name, resolve);
            }
            try (InputStream in = getResourceAsStream(name + ".class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException error) {
                throw new ClassNotFoundException(name, error);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        Loader loader = new Loader();
        Object lock = new Object();
        Class<?> task = loader.loadClass(Task.class.getName());
        Thread thread = new Thread((Runnable) task.getConstructor(Object.class).newInstance(lock));
        synchronized (loader) {
            synchronized (lock) {
                thread.start();
                while (thread.getState() != Thread.State.BLOCKED) {
                    Thread.onSpinWait();
                }
                // The handler of the wait's event runs meanwhile.
                long end = System.nanoTime() + 500_000_000;
                while (System.nanoTime() < end) {
                    Thread.onSpinWait();
                }
            }
        }
        thread.join();
        System.out.println("done");
    }
}
