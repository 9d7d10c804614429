package loadhook;

import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;

/** Facts about the process on which all trackers in it must agree. */
final class ThisProcess {
    /**
     * The name of a system property. The trackers of all loaders see the same interned string, so they also use
     * it as their lock.
     */
    private static final String TRACKERS = "loadhook trackers of this process";
    /**
     * The maximum number of trackers that record calls; later ones record nothing. A tracker's exit
     * hook keeps the tracker and its class loader as long as the JVM runs. Without a limit, a host
     * that loads an archive with a tracker over and over would run out of memory.
     */
    static final int MOST_TRACKERS = 16;

    private static final String NAME = "loadhook name of this process";

    private ThisProcess() {
    }

    /** Returns the process id; 0 if it is unknown. */
    static String id() {
        try {
            // ProcessHandle exists from Java 9 on.
            Class<?> handle = Class.forName("java.lang.ProcessHandle");
            return handle.getMethod("pid").invoke(handle.getMethod("current").invoke(null)).toString();
        } catch (Exception error) {
            return idOfJava8();
        }
    }

    private static String idOfJava8() {
        try {
            String id = new File("/proc/self").getCanonicalFile().getName();
            if (!id.isEmpty() && Character.isDigit(id.charAt(0))) {
                return id;
            }
            String name = ManagementFactory.getRuntimeMXBean().getName();
            return name.indexOf('@') > 0 ? name.substring(0, name.indexOf('@')) : "0";
        } catch (IOException error) {
            return "0";
        } catch (RuntimeException error) {
            return "0";
        } catch (LinkageError error) {
            return "0";
        }
    }

    /**
     * Returns a name that no other process has, on this machine or another one. Returns an empty name if a
     * security manager forbids access.
     */
    static String name() {
        synchronized (TRACKERS) {
            try {
                String name = System.getProperty(NAME);
                if (name == null) {
                    name = id() + "-" + System.currentTimeMillis() + "-" + System.nanoTime();
                    System.setProperty(NAME, name);
                }
                return name;
            } catch (RuntimeException error) {
                return "";
            }
        }
    }

    /** Returns the number of trackers so far, including trackers that do not count; 0 if unknown. */
    static int trackers() {
        return count(TRACKERS);
    }

    /**
     * Returns the number of a new tracker, from 1 on. A tracker with a number above {@link #MOST_TRACKERS} must
     * not count. Returns 0 if a security manager forbids access.
     */
    static int nextTracker() {
        return next(TRACKERS);
    }

    /** Returns the number of a new loader of this name, from 1 on; 0 if a security manager forbids access. */
    static int nextLoader(String name) {
        return next("loadhook loaders " + name);
    }

    private static int next(String property) {
        synchronized (TRACKERS) {
            try {
                int number = count(property) + 1;
                System.setProperty(property, Integer.toString(number));
                return number;
            } catch (RuntimeException error) {
                return 0;
            }
        }
    }

    private static int count(String property) {
        try {
            return Integer.parseInt(System.getProperty(property, "0"));
        } catch (RuntimeException error) {
            return 0;
        }
    }
}
