import java.io.BufferedInputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Links and runs pairs of classes, original and rewritten, until the input ends.
 *
 * {@code RunPairs MILLISECONDS [--instances] [--export-all]}. MILLISECONDS is the processor time that a run may take. A
 * request on standard input is {@code u4 length}, then as many bytes: {@code u4 original length, original, rewritten},
 * where the rewritten class may be missing. An answer on standard output is {@code u4 length}, then as many bytes: a
 * status byte and an {@link Answer}. The first answer is READY. Each request gets an answer for the original, and one
 * for the rewritten class if there is one and the original was linked. After HUNG, and the other answer for the same
 * pair, this process ends. Output of the classes is discarded.
 */
public final class RunPairs {
    /** Status bytes of an answer. */
    private static final int REFUSED = 0, RAN = 1, STOPPED = 2, HUNG = 3, READY = 4, LINKED = 5;
    /** The rewritten class gets more time by this factor: it runs with probes, and not finishing counts as a fault. */
    private static final int PATIENCE = 10;
    /** Time limit for linking, which is exceeded only if the verifier hangs. */
    private static final long LINK_MILLISECONDS = 20_000;
    private static final int MESSAGE_LINES = 12;

    private final DataInputStream in;
    private final DataOutputStream out;
    private final long milliseconds;
    private final boolean instances;
    private final AtomicLong linkingSince = new AtomicLong();
    private Worker worker = new Worker();

    private RunPairs(DataInputStream in, DataOutputStream out, long milliseconds, boolean instances) {
        this.in = in;
        this.out = out;
        this.milliseconds = milliseconds;
        this.instances = instances;
    }

    public static void main(String[] args) throws Exception {
        if (args.length < 1) {
            System.err.println("usage: RunPairs MILLISECONDS [--instances] [--export-all]");
            System.exit(2);
        }
        DataInputStream in = new DataInputStream(new BufferedInputStream(new FileInputStream(FileDescriptor.in), 1 << 16));
        DataOutputStream out = new DataOutputStream(new FileOutputStream(FileDescriptor.out));
        System.setIn(new ByteArrayInputStream(new byte[0]));
        System.setOut(new PrintStream(OutputStream.nullOutputStream()));
        System.setErr(new PrintStream(OutputStream.nullOutputStream()));
        List<String> options = List.of(args).subList(1, args.length);
        if (options.contains("--export-all")) {
            exportAll();
        }
        boolean instances = options.contains("--instances");
        RunPairs pairs = new RunPairs(in, out, Long.parseLong(args[0]), instances);
        pairs.watchLinking();
        pairs.answer(READY, new Answer());
        pairs.serve();
        Runtime.getRuntime().halt(0); // threads that classes have started must not keep this process alive
    }

    /**
     * Lets classes of the JDK that are defined here, outside their module, use packages that are
     * not exported. Needs {@code --add-opens java.base/java.lang=ALL-UNNAMED}.
     */
    private static void exportAll() throws ReflectiveOperationException {
        Method export = Module.class.getDeclaredMethod("implAddExportsToAllUnnamed", String.class);
        export.setAccessible(true);
        for (Module module : ModuleLayer.boot().modules()) {
            for (String name : module.getPackages()) {
                export.invoke(module, name);
            }
        }
    }

    private void serve() throws IOException, InterruptedException {
        while (true) {
            int length;
            try {
                length = in.readInt();
            } catch (EOFException e) {
                return;
            }
            byte[] original = new byte[in.readInt()];
            in.readFully(original);
            byte[] rewritten = new byte[length - 4 - original.length];
            in.readFully(rewritten);
            judge(original, rewritten);
        }
    }

    /**
     * Links both classes before running either, so that the rewritten class is linked even if the original never
     * ends.
     */
    private void judge(byte[] original, byte[] rewritten) throws IOException, InterruptedException {
        Link before = link(original);
        if (before.error != null) {
            answer(REFUSED, new Answer().text(before.error));
            return;
        }
        Link after = rewritten.length == 0 ? null : link(rewritten);
        Worker.End end = run(before, milliseconds);
        if (after != null && after.error != null) {
            answer(REFUSED, new Answer().text(after.error));
        } else if (after != null && end == Worker.End.DONE) {
            end = run(after, milliseconds * PATIENCE);
        } else if (after != null) {
            answer(LINKED, new Answer());
        }
        if (end == Worker.End.HUNG) {
            Runtime.getRuntime().halt(0);
        }
    }

    /** A linked class, or the error of linking it. */
    private record Link(Class<?> type, String error) {}

    private Link link(byte[] bytes) {
        linkingSince.set(System.nanoTime() | 1);
        try {
            Class<?> type = new Linking.OneClass(RunPairs.class.getClassLoader()).define(bytes);
            Linking.link(type);
            return new Link(type, null);
        } catch (Throwable e) {
            return new Link(null, Linking.describe(e, MESSAGE_LINES));
        } finally {
            linkingSince.set(0);
        }
    }

    private Worker.End run(Link link, long limit) throws IOException, InterruptedException {
        Trial trial = new Trial(link.type, instances);
        Worker.End end = worker.run(trial, limit);
        switch (end) {
            case HUNG -> answer(HUNG, new Answer());
            case STOPPED -> {
                worker = new Worker();
                answer(STOPPED, new Answer());
            }
            case DONE -> {
                if (worker.escaped() != null) {
                    trial.calls.add("escaped: " + worker.escaped().getClass().getName());
                }
                answer(RAN, new Answer().texts(trial.calls).numbers(trial.counts).text(trial.log));
            }
        }
        return end;
    }

    /** The fields of an answer: a text is {@code u4 length, UTF-8}, a list {@code u4 count, …}. */
    private static final class Answer {
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        private final DataOutputStream data = new DataOutputStream(bytes);

        Answer text(String text) throws IOException {
            byte[] utf8 = (text == null ? "" : text).getBytes(StandardCharsets.UTF_8);
            data.writeInt(utf8.length);
            data.write(utf8);
            return this;
        }

        Answer texts(List<String> texts) throws IOException {
            data.writeInt(texts.size());
            for (String text : texts) {
                text(text);
            }
            return this;
        }

        Answer numbers(long[] numbers) throws IOException {
            data.writeInt(numbers == null ? 0 : numbers.length);
            for (int i = 0; numbers != null && i < numbers.length; i++) {
                data.writeLong(numbers[i]);
            }
            return this;
        }
    }

    /** Writes an answer at once, so that two threads do not mix their frames. */
    private synchronized void answer(int status, Answer answer) throws IOException {
        ByteArrayOutputStream frame = new ByteArrayOutputStream(answer.bytes.size() + 5);
        DataOutputStream data = new DataOutputStream(frame);
        data.writeInt(answer.bytes.size() + 1);
        data.writeByte(status);
        answer.bytes.writeTo(frame);
        out.write(frame.toByteArray());
    }

    /** Watches the main thread, which links; if linking hangs, answers HUNG and ends the process. */
    private void watchLinking() {
        Thread watch = new Thread(() -> {
            try {
                while (true) {
                    Thread.sleep(1000);
                    long since = linkingSince.get();
                    if (since != 0 && System.nanoTime() - since > LINK_MILLISECONDS * 1_000_000) {
                        answer(HUNG, new Answer());
                        Runtime.getRuntime().halt(0);
                    }
                }
            } catch (InterruptedException | IOException e) {
                Runtime.getRuntime().halt(1);
            }
        }, "watch");
        watch.setDaemon(true);
        watch.start();
    }
}
