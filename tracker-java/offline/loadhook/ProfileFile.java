package loadhook;

import java.io.BufferedOutputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;

/** The file of the profile. The file is written whole or not at all, and only its owner may read it. */
final class ProfileFile {
    private static final String EXTENSION = ".pb.gz";
    /** The bits of a POSIX mode that hold the kind of file, and their value for a character device. */
    private static final int KIND = 0xF000;
    private static final int DEVICE = 0x2000;

    private final String file;
    private final boolean append;
    private final String process = ThisProcess.name();
    /** The number of this tracker in the process. */
    private final int tracker;

    /** Chooses the file of one tracker. With {@code append}, no profile of an earlier run is replaced. */
    ProfileFile(String file, boolean append, int tracker) {
        // The path is made absolute now, because a program can change the folder that it is
        // relative to.
        File whole = new File(file).getAbsoluteFile();
        // %p is replaced only in the file's name, not in the folder's.
        String name = whole.getName();
        name = name.contains("%p") ? name.replace("%p", ThisProcess.id()) : name;
        this.file = new File(whole.getParentFile(), name).getPath();
        this.append = append || tracker == 0;
        this.tracker = tracker;
    }

    void write() throws IOException {
        int number = number();
        File place = place(number);
        String note = note(ThisProcess.trackers());
        if (place.exists() && !place.isFile()) {
            device(place, note);
            return;
        }
        // The temporary name is short, because the profile's name may have the maximum length.
        String unique = ThisProcess.id() + "-" + tracker + "-" + Long.toHexString(System.nanoTime());
        File beside = new File(place.getParentFile(), ".loadhook-" + unique + ".tmp");
        try {
            create(beside);
            try (FileOutputStream to = new FileOutputStream(beside); OutputStream out = new BufferedOutputStream(to)) {
                Pprof.write(out, note, process);
                out.flush();
                // Without this call, a crash of the machine may leave a named
                // file without data.
                to.getFD().sync();
            }
            if (append) {
                place = add(beside, number);
            } else {
                replace(beside, place);
            }
            Agent.written(place);
        } finally {
            Files.deleteIfExists(beside.toPath());
        }
    }

    /**
     * Returns a note for profiles of a process with several trackers; null for a single tracker. The text is the
     * same for each tracker, so that merged profiles have it once.
     */
    private static String note(int trackers) {
        int counting = Math.min(trackers, ThisProcess.MOST_TRACKERS);
        String others = trackers == counting ? "" : ", and the archives of " + (trackers - counting) + " more are not counted";
        return trackers < 2 ? null
                : counting + " trackers in this process, each with a profile" + others
                        + "; a call path ends where the code of another tracker begins";
    }

    /**
     * Returns the number in the name of this tracker's file. The file that the agent writes has another number.
     */
    private int number() {
        int before = Math.max(tracker, 1);
        for (int number = 1;; number++) {
            if (!Agent.claims(new File(numbered(number))) && --before == 0) {
                return number;
            }
        }
    }

    /**
     * Returns the file with this number in its name. If that is a link, returns the file to which it leads, so
     * that the link stays.
     */
    private File place(int number) throws IOException {
        File file = new File(numbered(number));
        return file.exists() ? file.toPath().toRealPath().toFile() : file;
    }

    /** Returns the name with a number: {@code a.pb.gz}, {@code a.2.pb.gz}, {@code a.3.pb.gz} … */
    private String numbered(int number) {
        if (number == 1) {
            return file;
        }
        int name = file.lastIndexOf(File.separatorChar) + 1;
        int dot = file.endsWith(EXTENSION) ? file.length() - EXTENSION.length() : file.lastIndexOf('.');
        int end = dot > name ? dot : file.length();
        return file.substring(0, end) + "." + number + file.substring(end);
    }

    /** Creates a file that only the owner can read. First deletes an existing file or link of this name. */
    private static void create(File file) throws IOException {
        Files.deleteIfExists(file.toPath());
        try {
            Files.createFile(file.toPath(), PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        } catch (UnsupportedOperationException error) {
            Files.createFile(file.toPath());
        }
    }

    private static void replace(File from, File to) throws IOException {
        Files.move(from.toPath(), to.toPath(), StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    }

    /** Gives the profile the first free name. Other processes may be looking for a name at the same time. */
    private File add(File from, int first) throws IOException {
        for (int number = first;; number++) {
            File to = new File(numbered(number));
            if (Agent.claims(to)) {
                continue;
            }
            try {
                Files.createLink(to.toPath(), from.toPath());
                return to;
            } catch (FileAlreadyExistsException error) {
                continue;
            } catch (UnsupportedOperationException error) {
                // This file system has no hard links.
            } catch (IOException error) {
                // The file system may have no hard links. If the cause is another one, the move
                // below fails, too.
            }
            if (!to.exists()) {
                Files.move(from.toPath(), to.toPath());
                return to;
            }
        }
    }

    /**
     * Writes to {@code /dev/null} and other devices without replacing them. Refuses a pipe: opening one would
     * wait for its reader.
     */
    private void device(File place, String note) throws IOException {
        if (place.isDirectory()) {
            throw new IOException("is a directory");
        }
        Object mode = Files.getAttribute(place.toPath(), "unix:mode", LinkOption.NOFOLLOW_LINKS);
        if (((Integer) mode & KIND) != DEVICE) {
            throw new IOException("neither a file nor a device; set another file");
        }
        try (OutputStream out = new FileOutputStream(place)) {
            Pprof.write(out, note, process);
        }
    }

    @Override
    public String toString() {
        return numbered(number());
    }
}
