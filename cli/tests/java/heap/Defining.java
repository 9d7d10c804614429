package heap;

import java.io.InputStream;

/** Defines classes all the time, and keeps only the latest of them alive. */
public final class Defining {
    static final class Made {}

    static final class Loader extends ClassLoader {
        Class<?> define(byte[] file) {
            return defineClass(null, file, 0, file.length);
        }
    }

    public static void main(String[] arguments) throws Exception {
        byte[] file;
        try (InputStream in = Defining.class.getResourceAsStream("Defining$Made.class")) {
            file = in.readAllBytes();
        }
        for (int i = 0; i < 2; i++) {
            Thread maker = new Thread(() -> {
                Class<?>[] made = new Class<?>[1000];
                for (int at = 0; ; at = (at + 1) % made.length) {
                    made[at] = new Loader().define(file);
                }
            });
            maker.setDaemon(true);
            maker.start();
        }
        System.out.println("waiting");
        System.exit(System.in.read() < 0 ? 0 : 1);
    }
}
