package watched;

/** Calls a method again and again until standard input ends. */
public final class Looping {
    static int sum;

    static int step(int number) {
        int result = number;
        for (int i = 0; i < 1000; i++) {
            result = result * 31 + i;
        }
        return result;
    }

    static void loop() {
        while (true) {
            sum += step(sum);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Thread thread = new Thread(Looping::loop, "looping");
        thread.setDaemon(true);
        thread.start();
        System.out.println("waiting");
        // Ends with standard input, so that the program never outlives its test.
        System.exit(System.in.read() < 0 ? 0 : 1);
    }
}
