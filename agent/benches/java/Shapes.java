import java.util.Arrays;

/** Makes many small objects and calls their small methods. Prints the nanoseconds of moving and measuring 1,000 shapes. */
public final class Shapes {
    private Shapes() {
    }

    interface Shape {
        double area();

        Shape moved(Point by);
    }

    static final class Point {
        private final double x;
        private final double y;

        Point(double x, double y) {
            this.x = x;
            this.y = y;
        }

        double x() {
            return x;
        }

        double y() {
            return y;
        }

        Point plus(Point other) {
            return new Point(x + other.x(), y + other.y());
        }
    }

    static final class Circle implements Shape {
        private final Point centre;
        private final double radius;

        Circle(Point centre, double radius) {
            this.centre = centre;
            this.radius = radius;
        }

        @Override
        public double area() {
            return Math.PI * radius * radius;
        }

        @Override
        public Shape moved(Point by) {
            return new Circle(centre.plus(by), radius);
        }
    }

    static final class Box implements Shape {
        private final Point low;
        private final Point high;

        Box(Point low, Point high) {
            this.low = low;
            this.high = high;
        }

        @Override
        public double area() {
            return width() * height();
        }

        private double width() {
            return high.x() - low.x();
        }

        private double height() {
            return high.y() - low.y();
        }

        @Override
        public Shape moved(Point by) {
            return new Box(low.plus(by), high.plus(by));
        }
    }

    static int step(Shape[] shapes, Point by) {
        double sum = 0;
        for (int i = 0; i < shapes.length; i++) {
            shapes[i] = shapes[i].moved(by);
            sum += shapes[i].area();
        }
        return (int) sum;
    }

    public static void main(String[] args) {
        Shape[] shapes = new Shape[1000];
        Arrays.setAll(shapes, i -> i % 2 == 0 ? new Circle(new Point(i, 1), 2) : new Box(new Point(i, i), new Point(i + 3, i + 4)));
        Point by = new Point(0.5, -0.25);
        Measured.print(args, 2000, () -> step(shapes, by));
    }
}
