// javac 17 flags: -g
/** A module descriptor: ACC_MODULE, no methods, constants 19 and 20. */
@Deprecated
module loadhook.example {
    requires java.logging;
    requires transitive java.xml;

    uses Runnable;
}
