// javac 17 flags: -g
/** Inner classes: this$0 is stored before the super call. */
public class Inner {
    private int count = 1;

    class Counter {
        int next() {
            return ++count;
        }

        class Deep {
            int sum() {
                return count + next();
            }
        }
    }

    static class Plain {
        private int hidden = 5;
    }

    public static Object run() {
        Inner outer = new Inner();
        Counter counter = outer.new Counter();
        return counter.next() + "," + counter.new Deep().sum() + "," + new Plain().hidden;
    }
}
