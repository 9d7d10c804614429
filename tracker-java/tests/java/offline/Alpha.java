/** Of one archive; Beta is of another one. */
public class Alpha {
    public static void main(String[] args) {
        for (int n = 0; n < 10; n++) {
            one();
        }
    }

    static void one() {
        Beta.two();
        Beta.two();
    }

    public static void back() {
    }
}
