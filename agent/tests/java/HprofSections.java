/** Does what every section of HPROF shows, in known numbers. */
public final class HprofSections {
    static void sleep() throws InterruptedException {
        for (int at = 0; at < 5; at++) {
            Thread.sleep(7);
        }
    }

    public static void main(String[] args) throws Exception {
        Hprof.loop();
        Hprof.caught();
        Hprof.keep();
        Hprof.drop();
        HprofMonitors.contend();
        HprofMonitors.ring();
        sleep();
        HprofMonitors.deadlock();
        System.out.println("done");
    }
}
