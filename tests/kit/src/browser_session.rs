//! A page of a server in a real browser, which stays open between the steps of a test.
//!
//! The browser takes orders through a pipe (`--remote-debugging-pipe`): messages of JSON that end with a zero byte.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::browser::OPTIONS;
use crate::jdk::ensure_slow_tier;
use crate::process::{Limit, limit};

/// A browser that shows a page. Dropping it closes the browser.
pub struct Session {
    browser: Child,
    orders: ChildStdin,
    replies: BufReader<ChildStdout>,
    /// The page's name in messages.
    page: String,
    sent: u64,
    _folder: TempDir,
    _limit: Limit,
}

impl Session {
    /// Opens a page, and waits until the page is ready: until its root element has the attribute
    /// `data-ready`.
    ///
    /// # Panics
    ///
    /// If there is no `chromium`, or if it does not show the page.
    #[must_use]
    pub fn open(address: &str) -> Session {
        ensure_slow_tier("a browser").expect("only slow tests use a browser");
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        // The browser reads orders from descriptor 3, and writes replies to 4.
        let mut browser = Command::new("sh")
            .args([
                "-c",
                r#"exec chromium "$@" 3<&0 4>&1 0</dev/null 1>&2"#,
                "sh",
            ])
            .args(OPTIONS)
            .args(["--remote-debugging-pipe", "--window-size=1200,800"])
            .arg(format!("--user-data-dir={}", folder.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh starts");
        let mut session = Session {
            orders: browser.stdin.take().expect("the stream is a pipe"),
            replies: BufReader::new(browser.stdout.take().expect("the stream is a pipe")),
            _limit: limit(&browser),
            browser,
            page: String::new(),
            sent: 0,
            _folder: folder,
        };
        let opened = session.order("Target.createTarget", json!({"url": address}));
        let opened = opened.expect("the browser opens a page");
        let target = json!({"targetId": opened["targetId"], "flatten": true});
        let attached = session.order("Target.attachToTarget", target);
        let attached = attached.expect("the browser opens a page");
        attached["sessionId"]
            .as_str()
            .unwrap_or_default()
            .clone_into(&mut session.page);
        session.until("document.documentElement?.dataset.ready === 'true'");
        session
    }

    /// Evaluates an expression in the page, and returns its value as text. Waits for a promise.
    ///
    /// # Panics
    ///
    /// If the expression throws.
    pub fn value(&mut self, expression: &str) -> String {
        let found = self.evaluate(expression);
        found.unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    /// Evaluates an expression. Fails if the expression throws, or if the page is reloaded
    /// meanwhile.
    fn evaluate(&mut self, expression: &str) -> Result<String, Value> {
        let wanted = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let found = self.order("Runtime.evaluate", wanted)?;
        match &found["result"]["value"] {
            _ if !found["exceptionDetails"].is_null() => Err(found),
            Value::String(text) => Ok(text.clone()),
            other => Ok(other.to_string()),
        }
    }

    /// Waits until an expression is true in the page.
    pub fn until(&mut self, expression: &str) {
        let short = format!(
            "(async () => {{ await new Promise((go) => setTimeout(go, 20)); return Boolean({expression}); }})()"
        );
        while self.evaluate(&short) != Ok("true".to_owned()) {}
    }

    /// Sends a message, and waits for its reply: the result, or the error.
    fn order(&mut self, method: &str, parameters: Value) -> Result<Value, Value> {
        self.sent += 1;
        let mut message = json!({"id": self.sent, "method": method, "params": parameters});
        if !self.page.is_empty() {
            message["sessionId"] = json!(self.page);
        }
        write!(self.orders, "{message}\0").expect("chromium is needed (apt-get install chromium)");
        loop {
            let mut reply = Vec::new();
            let read = self.replies.read_until(0, &mut reply);
            assert!(
                read.is_ok_and(|read| read > 0),
                "chromium is needed (apt-get install chromium), and ends by no fault"
            );
            reply.pop();
            let reply: Value = serde_json::from_slice(&reply).expect("chromium writes JSON");
            if reply["id"] == self.sent {
                let result = reply["result"].clone();
                return if result.is_null() {
                    Err(reply)
                } else {
                    Ok(result)
                };
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}
