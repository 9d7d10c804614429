package loadhook;

/** A pause that lets other threads run, for a JVM without an agent. */
abstract class Backoff {
    /** Pauses the current thread, which has paused {@code before} times already. */
    abstract void pause(int before);
}
