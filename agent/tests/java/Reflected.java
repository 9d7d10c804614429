import java.lang.reflect.Constructor;

/** Makes objects through reflection, so often that the JDK generates code for the constructor's calls. */
public class Reflected {
    public static class Made {
        long number;
        int count;
    }

    static Object sink;

    public static void main(String[] args) throws Exception {
        Constructor<Made> constructor = Made.class.getConstructor();
        for (int i = 0; i < 1000; i++) {
            sink = constructor.newInstance();
        }
        System.out.println("1000 made");
    }
}
