/**
 * Two threads that allocate small objects, keep some of them, and meet at a monitor: a fixed amount of work, for the cost of
 * HPROF's options.
 */
public final class Desk {
    static final class Note {
        final int number;
        final Note before;

        Note(int number, Note before) {
            this.number = number;
            this.before = before;
        }
    }

    private final Object[] kept = new Object[1 << 12];
    private int sum;

    private Desk() {
    }

    synchronized void put(Note note) {
        kept[note.number & kept.length - 1] = note;
        for (int i = 0; i < 100; i++) {
            sum = sum * 31 + note.number;
        }
    }

    void work(int notes) {
        for (int i = 0; i < notes; i++) {
            Note note = null;
            for (int j = 0; j < 10; j++) {
                note = new Note(i + j, note);
            }
            put(note);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        int notes = Integer.parseInt(args[0]);
        Desk desk = new Desk();
        Thread other = new Thread(() -> desk.work(notes));
        other.start();
        desk.work(notes);
        other.join();
        System.out.println("RESULT " + desk.sum);
    }
}
