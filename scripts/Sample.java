import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A small shop that prices orders, on two threads; some orders are refused by an exception. */
public final class Sample {
    static final class Order {
        final String customer;
        final List<Integer> items = new ArrayList<>();

        Order(int number) {
            customer = "customer-" + number % 50;
            for (int i = 0; i < 5 + number % 20; i++) {
                items.add(number * 31 + i);
            }
        }
    }

    static long price(int item) {
        long cents = 100 + item % 900;
        for (int i = 0; i < 40; i++) {
            cents = cents * 31 % 10_007;
        }
        return cents;
    }

    static long total(Order order) {
        if (order.items.size() % 7 == 0) {
            throw new IllegalStateException("refused: " + order.customer);
        }
        long sum = 0;
        for (int item : order.items) {
            sum += price(item);
        }
        return sum;
    }

    static void settle(int first, int count, Map<String, Long> accounts) {
        for (int i = first; i < first + count; i++) {
            Order order = new Order(i);
            try {
                accounts.merge(order.customer, total(order), Long::sum);
            } catch (IllegalStateException e) {
                refuse(accounts, order);
            }
        }
    }

    static void refuse(Map<String, Long> accounts, Order order) {
        accounts.merge(order.customer, -1L, Long::sum);
    }

    public static void main(String[] args) throws InterruptedException {
        Map<String, Long> other = new HashMap<>();
        Thread thread = new Thread(() -> settle(100_000, 40_000, other), "night-shift");
        thread.start();
        Map<String, Long> accounts = new HashMap<>();
        settle(0, 40_000, accounts);
        thread.join();
        System.out.println(accounts.size() + other.size() + " accounts settled");
    }
}
