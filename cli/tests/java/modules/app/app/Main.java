package app;

import lib.Library;

/** Calls a method of the library a thousand times. Each time, that method calls back. */
public final class Main {
    public static void main(String[] arguments) {
        int sum = 0;
        for (int i = 0; i < 1000; i++) {
            sum += Library.twice(i, Main::increment);
        }
        System.out.println("sum " + sum + " in " + Main.class.getModule() + " and " + Library.class.getModule());
    }

    static int increment(int i) {
        return Math.addExact(i, 1);
    }
}
