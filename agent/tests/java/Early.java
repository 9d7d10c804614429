/** Allocates a little, right at the start of the program. */
public class Early {
    static volatile Object sink;

    public static void main(String[] args) {
        for (int i = 0; i < 50_000; i++) {
            sink = new byte[84]; // @early
        }
        System.out.println("early");
    }
}
