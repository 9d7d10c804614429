package start;

/** A class in a jar that is no module. */
public final class Start {
    private Start() {
    }

    public static void main(String[] arguments) {
        app.Main.main(arguments);
    }
}
