package loadhook;

/** Lets other threads run for a moment, where no agent does. */
abstract class Backoff {
    /** A thread's next nap, after so many. */
    abstract void pause(int before);
}
