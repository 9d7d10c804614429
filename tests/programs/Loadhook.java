package java.lang;

/**
 * A minimal tracker that only counts probe calls. It calls nothing: the JVM is not initialised yet.
 */
public final class $Loadhook {
    public static long enter, count, exit, caught, construct, constructed, ended, alloc, allocArray, allocDimension, init, newArray;

    private $Loadhook() {}

    public static void enter(int method) {
        enter++;
    }

    public static void count(int method) {
        count++;
    }

    public static void exit(int method) {
        exit++;
    }

    public static void caught(int method) {
        caught++;
    }

    public static void construct(int method, int key, int other) {
        construct++;
    }

    public static void constructed(int method) {
        constructed++;
    }

    public static void ended(int method, int key) {
        ended++;
    }

    public static void alloc(int site) {
        alloc++;
    }

    public static void allocArray(int length, int site) {
        allocArray++;
    }

    public static void allocDimension(int length, int dimension, int site) {
        allocDimension++;
    }

    public static void init(Object object) {
        init++;
    }

    public static void newArray(Object array) {
        newArray++;
    }
}
