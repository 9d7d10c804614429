package loadhook;

import java.io.File;

/** The agent that this JVM may have. It writes a profile of its own, which must not be replaced. */
final class Agent {
    /** Its tracker, which the agent defines in the boot loader. */
    private static final String TRACKER = "java.lang.$Loadhook";

    private Agent() {
    }

    /** Returns whether the agent's profile goes to that file. */
    static boolean claims(File file) {
        return Boolean.TRUE.equals(call("agentClaims", file));
    }

    /** Tells the agent of a profile that this tracker wrote, so that the agent names it together with its own. */
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
