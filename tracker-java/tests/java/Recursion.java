/** Direct and mutual recursion. A path of the tree contains each method once. */
public class Recursion {
    private static int sink;

    public static void main(String[] args) {
        direct(9);
        direct(0);
        even(10);
        odd(3);
        // This pattern of calls returns to a node that the recursion has returned to already.
        a(4);
        after();
    }

    static void direct(int n) {
        leaf();
        if (n > 0) {
            direct(n - 1);
            leaf();
        }
    }

    static void even(int n) {
        if (n > 0) {
            odd(n - 1);
        }
    }

    static void odd(int n) {
        if (n > 0) {
            even(n - 1);
        }
    }

    static void a(int n) {
        b(n);
        leaf();
    }

    static void b(int n) {
        c(n);
        leaf();
    }

    static void c(int n) {
        if (n > 0) {
            a(n - 1);
            b(0);
        }
    }

    static void leaf() {
        sink++;
    }

    static void after() {
        sink++;
    }
}
