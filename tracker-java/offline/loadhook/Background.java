package loadhook;

/** Makes threads of our own, which shall not be in the program's way. */
final class Background {
    private Background() {
    }

    static Thread thread(Runnable work, String name) {
        Thread thread = new Thread(group(), work, name);
        thread.setDaemon(true);
        // Else the loader of whoever runs first would live as long as the thread.
        thread.setContextClassLoader(null);
        return thread;
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
