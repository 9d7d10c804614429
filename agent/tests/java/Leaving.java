/** Ends while its threads allocate. */
public class Leaving {
    static volatile Object sink;

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 8; i++) {
            Thread thread = new Thread(() -> {
                while (true) {
                    sink = new byte[20];
                    sink = new Leaving();
                    sink = sink.toString();
                }
            });
            thread.setDaemon(i % 2 == 0);
            thread.start();
        }
        Thread.sleep(500);
        System.exit(7);
    }
}
