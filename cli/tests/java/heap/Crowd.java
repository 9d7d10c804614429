package heap;

/** Many threads, which wait. */
public final class Crowd {
    public static void main(String[] arguments) throws Exception {
        for (int i = Integer.parseInt(arguments[0]); i > 0; i--) {
            Thread thread =
                    new Thread(
                            () -> {
                                try {
                                    Thread.sleep(Long.MAX_VALUE);
                                } catch (InterruptedException end) {
                                    return;
                                }
                            });
            thread.setDaemon(true);
            thread.start();
        }
        System.out.println("waiting");
        // Until nobody can end it any more.
        System.exit(System.in.read() < 0 ? 0 : 1);
    }
}
