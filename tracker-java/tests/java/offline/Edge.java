/** What PlainEdge calls; nothing of it is met before. */
public class Edge {
    static int calls;

    static void touch() {
        calls++;
    }
}
