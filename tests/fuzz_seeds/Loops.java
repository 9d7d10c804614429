/** Loops of every kind, with labels. */
public class Loops {
    static int total;

    public static Object run() {
        total = 0;
        StringBuilder out = new StringBuilder();
        out.append(sum(7)).append(' ').append(nested(4, 3)).append(' ');
        out.append(backwards(9)).append(' ').append(labelled(5));
        out.append(' ').append(collatz(11)).append(' ').append(total);
        return out.toString();
    }

    static int sum(int n) {
        int s = 0;
        for (int i = 0; i < n; i++) {
            s += i * i;
            if (s > 50) {
                s -= 3;
            }
        }
        total += s;
        return s;
    }

    static long nested(int a, int b) {
        long product = 1;
        for (int i = 1; i <= a; i++) {
            for (int j = 1; j <= b; j++) {
                product = product * 3 + i - j;
                total++;
            }
        }
        return product;
    }

    static int backwards(int n) {
        int x = 0;
        do {
            x ^= n << 2;
            n -= 2;
        } while (n > 0);
        return x;
    }

    static int labelled(int n) {
        int found = 0;
        outer:
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) {
                if (j == i) {
                    continue outer;
                }
                if (i + j == 6) {
                    break outer;
                }
                found += 10 * i + j;
            }
        }
        return found;
    }

    static int collatz(int n) {
        int steps = 0;
        while (n != 1 && steps < 40) {
            n = (n & 1) == 0 ? n >> 1 : 3 * n + 1;
            steps++;
        }
        return steps;
    }
}
