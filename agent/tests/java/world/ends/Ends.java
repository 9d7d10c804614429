import java.io.File;

/** Ends after 1000 steps, in the way that its argument says. */
public final class Ends {
    static int steps;

    static void step() {
        steps++;
    }

    static void steps(int count) {
        for (int i = 0; i < count; i++) {
            step();
        }
    }

    public static void main(String[] args) throws Exception {
        steps(1000);
        if (args[0].equals("hook")) {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                steps(10);
                System.out.println("hook");
            }));
        }
        System.out.println("ready");
        switch (args[0]) {
            case "sleep":
            case "hook":
                Thread.sleep(600000);
                break;
            case "halt":
                Runtime.getRuntime().halt(3);
                break;
            case "exit":
                System.exit(4);
                break;
            case "exit-elsewhere":
                new Thread(() -> System.exit(5)).start();
                Thread.sleep(600000);
                break;
            case "exit-twice":
                for (int i = 0; i < 4; i++) {
                    new Thread(() -> System.exit(6)).start();
                }
                Thread.sleep(600000);
                break;
            case "throw":
                throw new IllegalStateException("no");
            case "daemon":
                Thread daemon = new Thread(() -> {
                    for (;;) {
                        Math.sqrt(steps);
                    }
                });
                daemon.setDaemon(true);
                daemon.start();
                break;
            case "mkdir":
                System.out.println(new File(args[1]).mkdir());
                break;
            default:
                break;
        }
    }
}
