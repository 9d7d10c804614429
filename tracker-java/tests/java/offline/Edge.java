/** Called by PlainEdge. The probe of this class is the first one of the archive. */
public class Edge {
    static int calls;

    static void touch() {
        calls++;
    }
}
