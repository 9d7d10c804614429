/** Works and requests a profile. With an argument, works and requests a profile once more. */
public class PlainDump {
    public static void main(String[] args) throws Exception {
        Work.work();
        dump();
        if (args.length > 0) {
            Work.work();
            dump();
        }
        Runtime.getRuntime().halt(3);
    }

    private static void dump() throws Exception {
        Class.forName("loadhook.Parts").getMethod("dump").invoke(null);
    }
}
