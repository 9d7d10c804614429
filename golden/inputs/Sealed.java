// javac 17 flags: -g
/** A sealed interface with its permitted classes. */
public class Sealed {
    sealed interface Shape permits Circle, Square {
        double area();
    }

    record Circle(double radius) implements Shape {
        public double area() {
            return 3 * radius * radius;
        }
    }

    static final class Square implements Shape {
        public double area() {
            return 4;
        }
    }

    static String test(Object o) {
        if (o instanceof Circle c && c.radius > 1) {
            return "large circle";
        }
        return o instanceof Shape s ? "shape " + s.area() : "none";
    }

    public static Object run() {
        return test(new Circle(2)) + test(new Circle(1)) + test(new Square()) + test("x");
    }
}
