/** Both switch instructions at several paddings, on ints and strings. */
public class Switches {
    public static Object run() {
        long mixed = 0;
        for (int i = -2; i < 12; i++) {
            mixed = mixed * 31 + table(i) + lookup(i * 100);
        }
        StringBuilder names = new StringBuilder();
        for (String name : new String[] {"one", "two", "three", "Aa", "BB", ""}) {
            names.append(byName(name)).append(fallThrough(name.length()));
        }
        return mixed + names.toString();
    }

    static int table(int i) {
        int x = 1;
        switch (i) {
            case 0:
                return 5;
            case 1:
                x = 2;
                break;
            case 2:
            case 3:
                x = 3;
            case 4:
                x++;
                break;
            case 7:
                throw new IllegalArgumentException("seven".substring(x));
            default:
                x = -1;
        }
        return x;
    }

    static int lookup(int i) {
        try {
            switch (i) {
                case -200:
                    return 1;
                case 300:
                    return table(7);
                case 1000:
                    return 3;
                default:
                    return i == 700 ? table(7) : 4;
            }
        } catch (IllegalArgumentException e) {
            return e.getMessage().length();
        }
    }

    static int byName(String name) {
        switch (name) {
            case "one":
                return 1;
            case "two":
                return 2;
            case "Aa":
                return 3;
            case "BB":
                return 4;
            default:
                return 9;
        }
    }

    static int fallThrough(int i) {
        int x = 0;
        switch (i) {
            case 0: x += 1;
            case 1: x += 2;
            case 2: x += 4;
            case 3: x += 8;
            case 4: x += 16;
            case 5: x += 32;
        }
        return x;
    }
}
