package shop;

import java.io.File;
import java.io.IOException;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** A shop that serves, waits or ends as its first argument says. The calls of its methods can be counted by hand. */
public final class Shop {
    @Retention(RetentionPolicy.RUNTIME)
    @interface Timed {}

    static final class Order {
        final int[] items;

        Order(int number) {
            items = new int[number % 7 + 1];
            for (int i = 0; i < items.length; i++) {
                items[i] = number * 31 + i;
            }
        }

        /** This method is never instrumented. */
        @Override
        @SuppressWarnings({"deprecation", "removal"})
        protected void finalize() {}

        /** This method is trivial: it has no call and no loop. */
        int first() {
            return items[0];
        }
    }

    /** A name of wide characters, too long for any table. */
    static final class 注文管理システムの会計処理 {
        static long 合計する(Order order, String aParameter, String anotherParameter) {
            long sum = 0;
            for (int item : order.items) {
                sum += item;
            }
            return sum;
        }

        static long 合計する(Order order) {
            return 合計する(order, "", "") + order.first();
        }
    }

    /** A character beyond the Basic Multilingual Plane: class files store it as two surrogates. */
    static final class 𠮷野 {
        static void 𠮟る(int times) {
            for (int i = 0; i < times; i++) {
                new Order(i);
            }
        }
    }

    @Timed
    static long serve(int orders) {
        long sum = 0;
        for (int i = 0; i < orders; i++) {
            sum += 注文管理システムの会計処理.合計する(new Order(i));
        }
        return sum;
    }

    static int child(String mode) throws IOException, InterruptedException {
        String java = System.getProperty("java.home") + File.separator + "bin" + File.separator + "java";
        ProcessBuilder builder = new ProcessBuilder(java, "-cp", System.getProperty("java.class.path"), "shop.Shop", mode);
        return builder.inheritIO().start().waitFor();
    }

    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "serve":
                Thread night = new Thread(() -> serve(500), "night-shift");
                night.start();
                night.join();
                System.out.println("served " + serve(1000) + System.getProperty("greeting", ""));
                break;
            case "exit":
                serve(10);
                System.exit(Integer.parseInt(arguments[1]));
                break;
            case "child":
                System.exit(child("serve"));
                break;
            case "wide":
                𠮷野.𠮟る(3);
                break;
            case "wait":
                serve(10);
                System.out.println("waiting");
                Thread.sleep(60_000);
                break;
            default:
                throw new IllegalArgumentException(arguments[0]);
        }
    }
}
