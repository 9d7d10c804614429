package loadhook;

import java.io.File;

/** The agent, if there is one in this JVM. The agent writes a profile of its own, which must not be replaced. */
final class Agent {
    /** The name of the agent's tracker, which the agent defines in the boot loader. */
    private static final String TRACKER = "java.lang.$Loadhook";

    private Agent() {
    }

    /** Returns whether the agent writes its profile to that file. */
    static boolean claims(File file) {
        return Boolean.TRUE.equals(call("agentClaims", file));
    }

    /**
     * Tells the agent about a profile that this tracker wrote, so that the agent lists it together
     * with its own.
     */
    static void written(File file) {
        call("agentNotes", file);
    }

    private static Object call(String method, File file) {
        try {
            Class<?> tracker = Class.forName(TRACKER, false, null);
            return tracker.getMethod(method, String.class).invoke(null, file.getPath());
        } catch (Exception error) {
            // There is no agent, or it is of another version.
            return null;
        } catch (LinkageError error) {
            return null;
        }
    }
}
