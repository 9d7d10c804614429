public class Beta {
    public static void two() {
        three();
        Alpha.back();
    }

    static void three() {
    }
}
