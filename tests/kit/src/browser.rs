//! Runs pages in a real browser, which is `chromium` on the path (`apt-get install chromium`).

use std::path::Path;
use std::process::Command;

use crate::jdk::ensure_slow_tier;

/// Opens a page in a browser, runs `script` in it, and returns the value that the script returns,
/// or the first error of the page.
///
/// # Panics
///
/// If there is no `chromium`, or if it shows no page.
#[must_use]
pub fn run(page: &str, script: &str) -> String {
    run_in(page, script, [1200, 800])
}

/// Does the same as [`run`] in a window of the given width and height.
///
/// # Panics
///
/// Fails as [`run`] does.
#[must_use]
pub fn run_in(page: &str, script: &str, window: [u32; 2]) -> String {
    ensure_slow_tier("a browser").expect("only slow tests use a browser");
    let errors = "<script>addEventListener('error', (e) => { \
        document.documentElement.dataset.result ??= 'error: ' + e.message; });</script>";
    let driver = format!(
        "<script>{{ const result = (() => {{ {script} }})(); \
         document.documentElement.dataset.result ??= String(result); }}</script></body>"
    );
    let page = page
        .replacen("<head>", &format!("<head>{errors}"), 1)
        .replacen("</body>", &driver, 1);
    let folder = tempfile::tempdir().expect("a temporary folder can be created");
    let file = folder.path().join("report.html");
    std::fs::write(&file, page).expect("the test file can be written");
    let dom = chromium(&file, folder.path(), window);
    let (_, result) = dom
        .split_once("data-result=\"")
        .unwrap_or_else(|| panic!("the page has no result: {dom:.2000}"));
    let (result, _) = result
        .split_once('"')
        .expect("the attribute ends with a quote");
    result
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&amp;", "&")
}

/// Options for tests: no window, no network traffic of the browser's own.
pub(crate) const OPTIONS: [&str; 8] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

fn chromium(file: &Path, folder: &Path, [width, height]: [u32; 2]) -> String {
    let output = Command::new("chromium")
        .args(OPTIONS)
        .arg("--dump-dom")
        .arg(format!("--window-size={width},{height}"))
        .arg(format!(
            "--user-data-dir={}",
            folder.join("browser").display()
        ))
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap_or_else(|error| panic!("chromium is needed (apt-get install chromium): {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "chromium failed: {errors}");
    String::from_utf8(output.stdout).expect("the text is UTF-8")
}
