package servers;

import SERVLET.http.HttpServlet;
import SERVLET.http.HttpServletRequest;
import SERVLET.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Answers with the number in the request and an order that is computed from it. A number always gets the same answer. */
public final class Answers extends HttpServlet {
    private static final long serialVersionUID = 1;

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
        int number = Integer.parseInt(request.getParameter("number"));
        byte[] body = (number + " " + order(number)).getBytes(StandardCharsets.UTF_8);
        response.setContentType("text/plain");
        response.setContentLength(body.length);
        response.getOutputStream().write(body);
    }

    static String order(int number) {
        Items items = new Items(number);
        StringBuilder text = new StringBuilder("{");
        for (Map.Entry<String, Integer> sum : items.sums().entrySet()) {
            append(text, sum.getKey(), sum.getValue());
        }
        return text.append("}").toString();
    }

    private static void append(StringBuilder text, String name, int value) {
        if (text.length() > 1) {
            text.append(",");
        }
        text.append('"').append(name).append("\":").append(value);
    }

    /** The items of an order. */
    static final class Items {
        private final List<Item> items = new ArrayList<>();

        Items(int seed) {
            int state = seed + 1;
            for (int at = 0; at < 64; at++) {
                state = state * 1103515245 + 12345;
                items.add(new Item("item" + (state >>> 16 & 15), state >>> 20 & 255));
            }
        }

        Map<String, Integer> sums() {
            items.sort(Comparator.comparing(Item::name).thenComparing(Item::price));
            Map<String, Integer> sums = new TreeMap<>();
            for (Item item : items) {
                sums.merge(item.name(), item.price(), Integer::sum);
            }
            return sums;
        }
    }

    /** An item. */
    static final class Item {
        private final String name;
        private final int price;

        Item(String name, int price) {
            this.name = name;
            this.price = price;
        }

        String name() {
            return name;
        }

        int price() {
            return price;
        }
    }
}
