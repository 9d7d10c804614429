//! Tests of archives with more entries than 16 bits can count, or more bytes than 32 bits can. The
//! files are sparse, so they take little disk space and time.

mod common;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use common::{GREETER, plan};
use loadhook_offline::{Detail, Offline, Progress, Tracker};
use loadhook_testkit::jdk::Jdk;
use loadhook_testkit::process;
use rawzip::FileReader;
use zip::write::{SimpleFileOptions, ZipWriter};

const GB: u64 = 1 << 30;
static ZEROS: [u8; 1 << 20] = [0; 1 << 20];

/// A file in which zeros are not written, but become a hole.
struct Sparse(File);

impl Write for Sparse {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let at = self.0.stream_position()?;
        let bytes = &bytes[..bytes.len().min(ZEROS.len())];
        if *bytes != ZEROS[..bytes.len()] || at < self.0.metadata()?.len() {
            return self.0.write(bytes);
        }
        let end = at + bytes.len() as u64;
        self.0.set_len(end)?;
        self.0.seek(SeekFrom::Start(end))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Seek for Sparse {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

/// Writes an archive with a class, an uncompressed entry of `len` zeros, and the class again in a
/// package. All checksums are correct.
fn with_zeros(file: &File, len: u64) -> Result<()> {
    let options = SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Stored)
        .large_file(len > u64::from(u32::MAX));
    let mut zip = ZipWriter::new(Sparse(file.try_clone()?));
    zip.start_file("Greeter.class", options)?;
    zip.write_all(GREETER)?;
    zip.start_file("zeros", options)?;
    for at in (0..len).step_by(ZEROS.len()) {
        zip.write_all(&ZEROS[..ZEROS.len().min((len - at) as usize)])?;
    }
    zip.start_file("META-INF/versions/9/Greeter.class", options)?;
    zip.write_all(GREETER)?;
    zip.finish()?;
    Ok(())
}

/// Rewrites a file, checks that all of it was read, and returns the output.
fn rewritten(file: &File) -> Result<tempfile::NamedTempFile> {
    let plan = plan(Tracker::Embed);
    let progress = Progress::default();
    let mut offline = Offline::new(&plan, Detail::default(), &progress);
    let out = tempfile::Builder::new().suffix(".jar").tempfile()?;
    let len = file.metadata()?.len();
    let source = FileReader::from(file.try_clone()?);
    offline.archive("big.jar", source, len, Sparse(out.as_file().try_clone()?))?;
    let tally = offline.tally();
    ensure!(tally.unreadable.total() == 0, "{:?}", tally.unreadable);
    Ok(out)
}

#[test]
fn offsets_and_sizes_pass_32_bits() -> Result<()> {
    for len in [2 * GB + 1, 4 * GB + 5] {
        let file = tempfile::tempfile()?;
        with_zeros(&file, len)?;
        let out = rewritten(&file)?;
        let mut archive = zip::ZipArchive::new(out.reopen()?)?;
        ensure!(archive.by_name("zeros")?.size() == len);
        for name in ["Greeter.class", "META-INF/versions/9/Greeter.class"] {
            let mut entry = archive.by_name(name)?;
            let mut class = Vec::new();
            entry.read_to_end(&mut class)?;
            ensure!(
                class.len() > GREETER.len(),
                "{name} was not rewritten: it is not longer than before"
            );
        }
        let offset = archive
            .by_name("META-INF/versions/9/Greeter.class")?
            .header_start();
        ensure!(offset > len);
        // Check some of the zeros, and that the output is as sparse as the input.
        let start = archive
            .by_name("zeros")?
            .data_start()
            .context("the entry has no data")?;
        let mut some = [1; 4096];
        out.as_file().read_exact_at(&mut some, start + len - 4096)?;
        ensure!(some == [0; 4096]);
        ensure!(out.as_file().metadata()?.blocks() * 512 < GB);
        check_runs(&out)?;
    }
    Ok(())
}

#[test]
fn entries_pass_16_bits() -> Result<()> {
    let file = tempfile::tempfile()?;
    let mut zip = ZipWriter::new(io::BufWriter::new(file.try_clone()?));
    let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for number in 0..70_000 {
        zip.start_file(format!("t/{number}"), options)?;
    }
    zip.start_file("Greeter.class", options)?;
    zip.write_all(GREETER)?;
    zip.finish()?.flush()?;
    let out = rewritten(&file)?;
    let archive = zip::ZipArchive::new(out.reopen()?)?;
    let names: Vec<_> = archive.file_names().collect::<Result<_, _>>()?;
    ensure!(names.len() > 70_001);
    ensure!((0..70_000).all(|number| names[number] == format!("t/{number}")));
    check_runs(&out)
}

/// If bytes follow the archive, the JVM does not find a zip64 end record. So none is written, and
/// the JVM counts the entries itself.
#[test]
fn entries_pass_16_bits_before_a_trailer() -> Result<()> {
    let file = tempfile::tempfile()?;
    let mut zip = ZipWriter::new(io::BufWriter::new(file.try_clone()?));
    let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for number in 0..65_500 {
        zip.start_file(format!("t/{number}"), options)?;
    }
    zip.start_file("Greeter.class", options)?;
    zip.write_all(GREETER)?;
    zip.finish()?.write_all(b"trailer")?;
    let out = rewritten(&file)?;
    let end = out.as_file().metadata()?.len() - 7 - 22;
    let mut count = [0; 2];
    out.as_file().read_exact_at(&mut count, end + 10)?;
    ensure!(count == [0xff; 2], "{count:?}");
    // javac does not read an archive that other bytes follow. So the main program is compiled
    // against the class file.
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("Greeter.class"), GREETER)?;
    check_runs_compiled(&out, folder.path())
}

/// Checks that javac and a JVM find the class in the archive, and that the JVM finds the tracker's
/// class that the probes call.
fn check_runs(jar: &tempfile::NamedTempFile) -> Result<()> {
    check_runs_compiled(jar, jar.path())
}

/// Checks that a JVM finds the class in `jar`, and the tracker's class that its probes call. The
/// main program is compiled against the jar `elsewhere`.
fn check_runs_compiled(jar: &tempfile::NamedTempFile, elsewhere: &Path) -> Result<()> {
    let main = "class Main { public static void main(String[] none) {
        System.out.println(new Greeter(\"world\").greet());
    } }";
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("Main.java"), main)?;
    let jdk = Jdk::find(17)?;
    let path = format!("{}:.", jar.path().display());
    let mut javac = jdk.javac()?;
    javac.current_dir(folder.path()).arg("-cp").arg(elsewhere);
    process::output(javac.args(["-d", ".", "Main.java"]))?;
    let mut java = jdk.java();
    java.current_dir(folder.path());
    java.args(["-Xverify:all", "-Dloadhook.file=a.pb.gz", "-cp", &path]);
    let out = process::output(java.arg("Main"))?;
    ensure!(out == "Hello, world\n", "{out}");
    ensure!(
        folder.path().join("a.pb.gz").is_file(),
        "the program wrote no profile"
    );
    Ok(())
}
