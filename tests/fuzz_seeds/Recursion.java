/** Methods that call themselves and one another. */
public class Recursion {
    static int calls;

    public static Object run() {
        calls = 0;
        int[] data = {5, 3, 8, 1, 9, 2};
        sort(data, 0, data.length - 1);
        String sorted = "";
        for (int d : data) {
            sorted += d;
        }
        return fib(9) + " " + ackermann(2, 2) + " " + even(9) + " " + sorted + " " + hanoi(4, 'a', 'b', 'c') + " " + calls;
    }

    static int fib(int n) {
        calls++;
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static int ackermann(int m, int n) {
        calls++;
        if (m == 0) {
            return n + 1;
        }
        if (n == 0) {
            return ackermann(m - 1, 1);
        }
        return ackermann(m - 1, ackermann(m, n - 1));
    }

    static boolean even(int n) {
        return n == 0 || odd(n - 1);
    }

    static boolean odd(int n) {
        return n != 0 && even(n - 1);
    }

    static void sort(int[] data, int from, int to) {
        if (from >= to) {
            return;
        }
        int pivot = data[(from + to) / 2], i = from, j = to;
        while (i <= j) {
            while (data[i] < pivot) {
                i++;
            }
            while (data[j] > pivot) {
                j--;
            }
            if (i <= j) {
                int swap = data[i];
                data[i++] = data[j];
                data[j--] = swap;
            }
        }
        sort(data, from, j);
        sort(data, i, to);
    }

    static int hanoi(int n, char from, char to, char via) {
        if (n == 0) {
            return from - via;
        }
        return hanoi(n - 1, from, via, to) + 1 + hanoi(n - 1, via, to, from);
    }
}
