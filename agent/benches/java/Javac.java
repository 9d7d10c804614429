import java.io.File;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.URI;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * Compiles the same sources again and again in one JVM, keeps nothing, and prints the median of the last rounds. The time
 * is the processor time of the thread, so that other work on the machine counts little.
 */
public final class Javac {
    private Javac() {
    }

    /**
     * Arguments: the module, the folder of its sources, the rounds to warm up, the rounds to
     * measure.
     */
    public static void main(String[] args) throws Exception {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        List<File> sources = new ArrayList<>();
        collect(new File(args[1]), sources);
        List<String> options = List.of("-proc:none", "-nowarn", "-XDrawDiagnostics", "--patch-module", args[0] + "=" + args[1]);
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        int warm = Integer.parseInt(args[2]);
        double[] millis = new double[Integer.parseInt(args[3])];
        for (int round = 0; round < warm + millis.length; round++) {
            long start = threads.getCurrentThreadCpuTime();
            StandardJavaFileManager files = compiler.getStandardFileManager(d -> { }, null, null);
            boolean good = compiler.getTask(null, new Discarding(files), d -> { }, options, null,
                    files.getJavaFileObjectsFromFiles(sources)).call();
            if (!good) {
                throw new IllegalStateException("the sources do not compile");
            }
            if (round >= warm) {
                millis[round - warm] = (threads.getCurrentThreadCpuTime() - start) / 1e6;
            }
        }
        Arrays.sort(millis);
        System.out.println("RESULT " + millis[millis.length / 2]);
    }

    private static void collect(File folder, List<File> sources) {
        for (File file : folder.listFiles()) {
            if (file.isDirectory()) {
                collect(file, sources);
            } else if (file.getName().endsWith(".java")) {
                sources.add(file);
            }
        }
    }

    private static final class Discarding extends ForwardingJavaFileManager<JavaFileManager> {
        Discarding(JavaFileManager files) {
            super(files);
        }

        @Override
        public JavaFileObject getJavaFileForOutput(Location location, String name, JavaFileObject.Kind kind, FileObject near) {
            return new SimpleJavaFileObject(URI.create("mem:///" + name.replace('.', '/') + kind.extension), kind) {
                @Override
                public OutputStream openOutputStream() {
                    return OutputStream.nullOutputStream();
                }
            };
        }
    }
}
