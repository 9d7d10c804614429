package loadhook;

import java.lang.reflect.Constructor;
import java.security.AccessController;
import java.security.PrivilegedAction;

/** Makes threads of our own, which shall not be in the program's way and keep nothing of it. */
final class BackgroundThread implements PrivilegedAction<Thread> {
    private final Runnable work;
    private final String name;

    private BackgroundThread(Runnable work, String name) {
        this.work = work;
        this.name = name;
    }

    /** A thread remembers, by their loaders, whose methods are being called when it is made: below this only ours. */
    static Thread thread(Runnable work, String name) {
        return AccessController.doPrivileged(new BackgroundThread(work, name));
    }

    @Override
    public Thread run() {
        Thread thread = made();
        thread.setDaemon(true);
        // Else the loader of whoever runs first would live as long as the thread.
        thread.setContextClassLoader(null);
        return thread;
    }

    /** Without what the current thread bequeaths, from Java 9 on. */
    private Thread made() {
        try {
            Constructor<Thread> constructor = Thread.class.getConstructor(
                    ThreadGroup.class, Runnable.class, String.class, long.class, boolean.class);
            return constructor.newInstance(group(), work, name, 0L, false);
        } catch (Exception error) {
            return new Thread(group(), work, name);
        }
    }

    /**
     * The JVM's own group, lest the program find our threads in a group that it counts or destroys; null, which is the
     * current one, where that is forbidden.
     */
    static ThreadGroup group() {
        try {
            ThreadGroup group = Thread.currentThread().getThreadGroup();
            while (group.getParent() != null) {
                group = group.getParent();
            }
            group.checkAccess();
            return group;
        } catch (SecurityException error) {
            return null;
        }
    }
}
