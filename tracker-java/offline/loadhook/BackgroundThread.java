package loadhook;

import java.lang.reflect.Constructor;
import java.security.AccessController;
import java.security.PrivilegedAction;

/**
 * Makes threads of the tracker. These threads must not disturb the program or keep any of its objects alive.
 */
final class BackgroundThread implements PrivilegedAction<Thread> {
    private final Runnable work;
    private final String name;

    private BackgroundThread(Runnable work, String name) {
        this.work = work;
        this.name = name;
    }

    /**
     * Makes a thread. A privileged action keeps the thread from inheriting the callers' access
     * context, and with it their loaders.
     */
    static Thread thread(Runnable work, String name) {
        return AccessController.doPrivileged(new BackgroundThread(work, name));
    }

    @Override
    public Thread run() {
        Thread thread = made();
        thread.setDaemon(true);
        // The thread would otherwise inherit the loader of the class that happens
        // to run first, and keep it alive.
        thread.setContextClassLoader(null);
        return thread;
    }

    /** Makes the thread, which from Java 9 on inherits no thread locals. */
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
     * Returns the JVM's own thread group. In the current group, the program might count the thread, or destroy
     * the group. Returns null, which means the current group, if access is forbidden.
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
