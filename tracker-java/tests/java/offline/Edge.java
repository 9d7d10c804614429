/** A class that PlainEdge calls. Its probe is the first one of the archive. */
public class Edge {
    static int calls;

    static void touch() {
        calls++;
    }
}
