package loadhook;

import java.io.FileDescriptor;
import java.io.FileOutputStream;

/**
 * The class that the probes of an archive call after {@code loadhook rewrite} instrumented it. Each
 * archive has a copy under a name of its own. In the copy, the archive's id and the number of its
 * method ids replace {@code loadhook:archive}.
 *
 * An archive's ids count from 0. The tracker's ids are these ids plus a base. The class has no static
 * initialiser, although the JIT could then treat the base as a constant: near the end of the stack the
 * initialiser would fail, and the class, and with it the program, would stay unusable. For the same reason
 * nothing is called unless there is enough stack for all of it. Otherwise classes of the JDK might stay unusable.
 */
public final class Part {
    /** The base of a part that counts nothing. */
    private static final int OFF = -1;

    /**
     * The number of frames of {@link #descend}. They take more than twice the stack that the start of a tracker
     * needs.
     */
    private static final int FRAMES = 200;

    private static final String TOLD = "loadhook archives are not counted";

    /**
     * The base; 0 while it is unknown. A number below {@link #OFF} is the negated base in a tracker of another
     * package.
     */
    private static volatile int base;

    private Part() {
    }

    /**
     * Calls {@link Tracker#enter}. Each other probe calls the tracker's method of the same name.
     */
    public static void enter(int method) {
        int base = Part.base;
        if (base > 0) {
            Tracker.enter(base + method);
        } else if (base != OFF) {
            enterElsewhere(method);
        }
    }

    /**
     * Calls the probe of a tracker in another package. If the base is unknown, asks for it first.
     * Only entry probes ask, because a method's entry comes before its other probes.
     */
    private static void enterElsewhere(int method) {
        int base = found();
        if (base > 0) {
            Tracker.enter(base + method);
        } else if (base < OFF) {
            ForeignProbes.ENTER.accept(method - base);
        }
    }

    public static void count(int method) {
        int base = Part.base;
        if (base > 0) {
            Tracker.count(base + method);
        } else if (base != OFF) {
            countElsewhere(method);
        }
    }

    private static void countElsewhere(int method) {
        int base = found();
        if (base > 0) {
            Tracker.count(base + method);
        } else if (base < OFF) {
            ForeignProbes.COUNT.accept(method - base);
        }
    }

    public static void exit(int method) {
        int base = Part.base;
        if (base > 0) {
            Tracker.exit(base + method);
        } else if (base < OFF) {
            ForeignProbes.EXIT.accept(method - base);
        }
    }

    public static void construct(int method, int key, int other) {
        int base = Part.base;
        if (base > 0) {
            Tracker.construct(base + method, key, other);
        } else if (base < OFF) {
            ForeignProbes.CONSTRUCT.applyAsInt(method - base, key << 16 | other & 0xFFFF);
        }
    }

    public static void constructed(int method) {
        int base = Part.base;
        if (base > 0) {
            Tracker.constructed(base + method);
        } else if (base < OFF) {
            ForeignProbes.CONSTRUCTED.accept(method - base);
        }
    }

    public static void ended(int method, int key) {
        int base = Part.base;
        if (base > 0) {
            Tracker.ended(base + method, key);
        } else if (base < OFF) {
            ForeignProbes.ENDED.applyAsInt(method - base, key);
        }
    }

    public static void caught(int method) {
        int base = Part.base;
        if (base > 0) {
            Tracker.caught(base + method);
        } else if (base < OFF) {
            ForeignProbes.CAUGHT.accept(method - base);
        }
    }

    /**
     * Returns the base. If it is unknown, asks {@link Parts} for it, provided that there is enough stack;
     * otherwise a later probe asks.
     */
    private static int found() {
        int found = base;
        if (found == 0 && hasStack()) {
            found = ask("loadhook:archive");
            if (found != 0) {
                base = found;
            }
        }
        return found;
    }

    private static int ask(String archive) {
        try {
            return Parts.register(Part.class, archive, Parts.VERSION);
        } catch (Throwable error) {
            // The tracker is missing, or of another version. The program must run all the same.
            tell(error);
            return OFF;
        }
    }

    /**
     * Writes the error to standard error. The tracker does not do it, because it may be missing. Only one error
     * is reported in a process, because hundreds of archives may have the same one.
     */
    private static void tell(Throwable error) {
        try {
            if (System.getProperty(TOLD) == null) {
                System.setProperty(TOLD, "told");
                String line = "loadhook: calls in rewritten archives are not counted, since the tracker is missing or of another version: " + error
                        + "; rewrite all archives with one version of Loadhook; on a module path, java may need --add-modules loadhook.tracker\n";
                // The stream is not closed, because the descriptor belongs to the process.
                new FileOutputStream(FileDescriptor.err).write(line.getBytes("UTF-8"));
            }
        } catch (Throwable another) {
            // The message cannot be reported anywhere.
        }
    }

    private static boolean hasStack() {
        try {
            descend(FRAMES,
                    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
            return true;
        } catch (StackOverflowError error) {
            return false;
        }
    }

    /** Calls itself for this number of frames. A frame takes 300 to 600 bytes, compiled or not. */
    private static int descend(int frames,
            int a0, int a1, int a2, int a3, int a4, int a5, int a6, int a7, int a8, int a9, int a10, int a11, int a12,
            int a13, int a14, int a15, int a16, int a17, int a18, int a19, int a20, int a21, int a22, int a23, int a24,
            int a25, int a26, int a27, int a28, int a29, int a30, int a31, int a32, int a33, int a34, int a35, int a36,
            int a37, int a38, int a39, int a40, int a41, int a42, int a43, int a44, int a45, int a46, int a47, int a48,
            int a49, int a50, int a51, int a52, int a53, int a54, int a55, int a56, int a57, int a58, int a59) {
        return frames == 0 ? a0 : descend(frames - 1,
                a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23,
                a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45,
                a46, a47, a48, a49, a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a0);
    }
}
