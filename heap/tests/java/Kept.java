import java.lang.ref.WeakReference;

/** Objects whose number, order and dominators are known. */
public final class Kept {
    static class Node {
        int number;
        byte small;
        Object next;
    }

    static final class Longer extends Node {
        boolean flag;
        long large;
    }

    /** A chain of nodes. Only the previous node refers to each node. */
    static final class Chain {
        Node first;
    }

    /** Two sides refer to one object, so neither retains it. */
    static final class Side {
        Object shared;
    }

    static final class Shared {
        byte[] bytes = new byte[100_000];
    }

    static final class Weakly {
        int[] ints = new int[1000];
    }

    static final Chain CHAIN = new Chain();
    static final Side LEFT = new Side();
    static final Side RIGHT = new Side();
    static Object[] odd = {new byte[0], new byte[13], new char[7], new long[3], new String[5][2], new boolean[9]};
    static String[] same = new String[100];
    static WeakReference<Weakly> weak;
    static Weakly strong;

    private static Node chain() {
        Node last = null;
        for (int i = 0; i < 1000; i++) {
            Node node = i % 2 == 0 ? new Node() : new Longer();
            node.next = last;
            last = node;
        }
        return last;
    }

    public static void main(String[] args) throws Exception {
        CHAIN.first = chain();
        LEFT.shared = RIGHT.shared = new Shared();
        for (int i = 0; i < same.length; i++) {
            same[i] = new String("said a hundred times".toCharArray());
        }
        strong = new Weakly();
        weak = new WeakReference<>(strong);
        wait(new StringBuilder("a local"));
    }

    private static void wait(StringBuilder local) throws Exception {
        System.out.println("ready");
        System.in.read();
        System.out.println(local);
    }
}
