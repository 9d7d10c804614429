import java.lang.reflect.Field;

/**
 * Prints the size of the agent's reserve for the end of the program, in bytes. With the argument {@code fill}, prints it
 * twice: before and after a quarter of a gigabyte was allocated. With an argument, waits for the last size.
 */
public class Reserve {
    private static byte[] much;

    public static void main(String[] args) throws Exception {
        Field kept = Class.forName("java.lang.$LoadhookBudget").getDeclaredField("kept");
        kept.setAccessible(true);
        if (args.length > 0 && args[0].equals("fill")) {
            System.out.println(size(kept));
            much = new byte[1 << 28];
        }
        for (int turn = 0; turn < 2000 && args.length > 0 && size(kept) == 0; turn++) {
            Thread.sleep(10);
        }
        System.out.println(size(kept));
    }

    private static int size(Field kept) throws Exception {
        byte[] array = (byte[]) kept.get(null);
        return array == null ? 0 : array.length;
    }
}
