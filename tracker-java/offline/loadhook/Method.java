package loadhook;

/** The names of a method in a profile. */
final class Method {
    final String loader;
    final String className;
    final String name;
    final String descriptor;
    /** The source file; null if unknown. */
    final String file;
    /** The line of the method's beginning; -1 if unknown. */
    final int line;
    /** Number of loaders that had a copy of the method's class. */
    final int loaders;

    Method(String loader, String className, String name, String descriptor, String file, int line, int loaders) {
        this.loader = loader;
        this.className = className;
        this.name = name;
        this.descriptor = descriptor;
        this.file = file;
        this.line = line;
        this.loaders = loaders;
    }

    /** Makes the method that stands for all methods called while the tree was full. */
    static Method overflow() {
        return new Method("", "(tree full)", "", "", null, -1, 1);
    }

    /** Makes the method that stands for an id that its archive does not name. */
    static Method unknown(int id) {
        return new Method("", "(unknown)", "method" + id, "", null, -1, 1);
    }
}
