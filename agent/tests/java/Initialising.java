/** Makes an instance in an initialiser that never ends. Meanwhile another thread ends the program. */
public final class Initialising {
    private static final class Server {
        static final Server SERVER = new Server();

        Server() {
            end();
            while (true) {
                try {
                    Thread.sleep(1000);
                } catch (InterruptedException error) {
                    Thread.currentThread().interrupt();
                }
            }
        }
    }

    private Initialising() {
    }

    /** Ends the program from a thread that does not wait for the initialiser. */
    static void end() {
        new Thread(() -> System.exit(0)).start();
    }

    public static void main(String[] args) {
        System.out.println(Server.SERVER);
    }
}
