import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** Uses classes of the JDK, so that an archive of its classes contains some. */
public final class Archived {
    interface Shape {
        double area();
    }

    static final class Square implements Shape {
        private final double side;

        Square(double side) {
            this.side = side;
        }

        @Override
        public double area() {
            return multiply(side, side);
        }
    }

    static double multiply(double a, double b) {
        return a * b;
    }

    /** The tests' patterns exclude this class. */
    static final class Aside {
        static String text(int i) {
            return "aside " + i;
        }
    }

    public static void main(String[] args) {
        List<Shape> shapes = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            shapes.add(new Square(i));
        }
        double sum = 0;
        for (Shape shape : shapes) {
            sum += shape.area();
        }
        System.out.println(sum + " " + shapes.stream().map(s -> (int) s.area()).filter(a -> a < 10)
                .map(String::valueOf).collect(Collectors.joining(",")));
        System.out.println(Aside.text(7));
        System.exit(4);
    }
}
