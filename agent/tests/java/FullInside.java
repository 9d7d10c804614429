import java.lang.reflect.Field;

/** Tells the tracker of so many threads that its array for a snapshot would be larger than the free heap. */
public final class FullInside {
    static void leaf() {
    }

    public static void main(String[] args) throws Exception {
        leaf();
        Field live = Class.forName("java.lang.$LoadhookThreads").getDeclaredField("live");
        live.setAccessible(true);
        live.setInt(null, 1 << 29);
        System.out.println("works");
    }
}
