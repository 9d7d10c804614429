package loadhook;

import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;

/** The process, and what several trackers in it have to agree on. */
final class ThisProcess {
    /** The same object for all of them, whoever loaded them, and so is the property of this name. */
    private static final String TRACKERS = "loadhook trackers of this process";
    /**
     * So many trackers count. Each one's hook keeps it, and with it its class loader, as long as the JVM runs: a host that loads
     * an archive with a tracker over and over is not to run out of memory for it.
     */
    static final int MOST_TRACKERS = 16;

    private static final String NAME = "loadhook name of this process";

    private ThisProcess() {
    }

    /** Its id; 0 if nobody tells. */
    static String id() {
        try {
            // Java 9 on.
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

    /** What no other process is called, here or elsewhere; empty where a security manager forbids to agree on it. */
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

    /** How many trackers there are so far, those that do not count among them; 0 if nobody knows. */
    static int trackers() {
        return count(TRACKERS);
    }

    /**
     * A number for one more tracker, from 1 on, which is not to count if that is above {@link #MOST_TRACKERS}; 0 where a security
     * manager forbids to agree on it.
     */
    static int nextTracker() {
        return next(TRACKERS);
    }

    /** A number for one more loader of this name, likewise. */
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
