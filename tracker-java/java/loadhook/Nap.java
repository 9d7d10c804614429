package loadhook;

/** Lets other threads run for a moment, where no agent does. */
abstract class Nap {
    /** A thread's next nap, after so many. */
    abstract void take(int before);
}
