package loadhook;

/** A method as a profile names it. */
final class Method {
    final String loader;
    final String className;
    final String name;
    final String descriptor;
    /** Null if unknown. */
    final String file;
    /** -1 if unknown. */
    final int line;
    /** How many loaders had a copy of its class. */
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

    /** Stands for all methods called where the tree was full. */
    static Method overflow() {
        return new Method("", "(tree full)", "", "", null, -1, 1);
    }

    /** Stands for a method whose archive does not name it. */
    static Method unknown(int id) {
        return new Method("", "(unknown)", "method" + id, "", null, -1, 1);
    }
}
