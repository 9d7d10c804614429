package start;

/** A class in a jar without a module description. */
public final class Start {
    private Start() {
    }

    public static void main(String[] arguments) {
        app.Main.main(arguments);
    }
}
