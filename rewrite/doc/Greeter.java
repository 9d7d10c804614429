// The class of the crate's example. javac --release 8 -g:lines
public class Greeter {
    private final String name;

    Greeter(String name) {
        this.name = name;
    }

    String name() {
        return name;
    }

    String greet() {
        return "Hello, ".concat(name());
    }
}
