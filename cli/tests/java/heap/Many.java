package heap;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;

/**
 * Keeps more than ten million objects in three structures whose sizes are known, prints a line, and waits until its
 * standard input ends.
 */
public final class Many {
    static final class Node {
        Node left;
        Node right;
        long depth;
        byte[] data;
    }

    static Object tree;
    static Object list;
    static Object map;

    /**
     * A tree of 2^(depth + 1) - 1 nodes; its leaves have the depth 0. A node whose depth is divisible by three has an
     * array of as many bytes as its depth.
     */
    static Node tree(int depth) {
        Node node = new Node();
        node.depth = depth;
        if (depth % 3 == 0) {
            node.data = new byte[depth];
        }
        if (depth > 0) {
            node.left = tree(depth - 1);
            node.right = tree(depth - 1);
        }
        return node;
    }

    static List<int[]> list(int length) {
        List<int[]> list = new LinkedList<>();
        for (int i = 0; i < length; i++) {
            list.add(new int[] {i});
        }
        return list;
    }

    /** A map of numbers that are too large for the JDK's cache of Integer objects. */
    static Map<Integer, List<Integer>> map(int keys) {
        Map<Integer, List<Integer>> map = new HashMap<>();
        for (int i = 0; i < keys; i++) {
            List<Integer> values = new ArrayList<>(2);
            values.add(1000 + i);
            values.add(1000 + i);
            map.put(1000 + i, values);
        }
        return map;
    }

    public static void main(String[] arguments) throws Exception {
        tree = tree(21);
        list = list(1_500_000);
        map = map(400_000);
        System.out.println("waiting");
        System.exit(System.in.read() < 0 ? 0 : 1);
    }
}
