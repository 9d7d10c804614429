import java.lang.reflect.Field;

/** Makes the tracker ask for more heap than there is when it takes a snapshot: an array for so many threads. */
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
