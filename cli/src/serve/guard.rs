//! Refuses requests that do not come from the page itself.
//!
//! Any website can make a browser send requests to this machine, but no website knows the token. Two headers are
//! checked, too: `Host` reveals the requests of a website whose name leads to this machine (DNS rebinding), and
//! `Origin` reveals those of other websites.

use std::fs::File;
use std::io::{self, Read};

use super::http::Head;

const TOKEN_BYTES: usize = 16;

/// The secret part of the page's address.
pub(super) struct Token(String);

impl Token {
    /// Makes a token that cannot be guessed.
    pub(super) fn random() -> io::Result<Token> {
        let mut bytes = [0; TOKEN_BYTES];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Token(
            bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        ))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Compares the token with `word`. This takes the same time for all words of the token's length, so that the token
    /// cannot be guessed letter by letter.
    fn is(&self, word: &str) -> bool {
        let pairs = self.0.bytes().zip(word.bytes());
        let differing = pairs.fold(0, |bits, (a, b)| bits | (a ^ b));
        self.0.len() == word.len() && std::hint::black_box(differing) == 0
    }
}

/// Returns the part of the target behind the token, or the reason why the request is refused.
pub(super) fn check<'a>(head: &'a Head, token: &Token) -> Result<&'a str, &'static str> {
    // The port in `Host` may differ from the server's, because a tunnel may lead here.
    let name = head
        .host
        .split_once(':')
        .map_or(&*head.host, |(name, _)| name);
    if !matches!(name, "127.0.0.1" | "localhost") {
        return Err("the address must begin with http://127.0.0.1 or http://localhost");
    }
    let own = format!("http://{}", head.host);
    if head.origin.as_ref().is_some_and(|origin| *origin != own) {
        return Err("this request comes from another page, so it is refused; open the page itself");
    }
    let path = head
        .target
        .strip_prefix('/')
        .and_then(|path| path.split_once('/'));
    match path {
        Some((word, rest)) if token.is(word) => Ok(rest),
        _ => Err("wrong address; open the address that loadhook serve has printed"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Token, check};
    use crate::serve::http::Head;

    #[test]
    fn only_the_page_itself_is_answered() {
        let token = Token("abc".to_owned());
        let is_answered = |host: &str, origin: Option<&str>, target: &str| {
            let head = Head {
                host: host.to_owned(),
                origin: origin.map(str::to_owned),
                target: target.to_owned(),
                ..Head::default()
            };
            check(&head, &token).ok().map(str::to_owned)
        };
        let page = Some(String::new());
        for host in ["127.0.0.1:7", "localhost:7", "localhost", "127.0.0.1"] {
            assert_eq!(is_answered(host, None, "/abc/"), page);
            assert_eq!(
                is_answered(host, Some(&format!("http://{host}")), "/abc/"),
                page
            );
            for origin in [
                "null",
                "",
                "http://localhost:8",
                "https://localhost:7",
                "http://evil.example",
            ] {
                assert_eq!(is_answered(host, Some(origin), "/abc/"), None, "{origin}");
            }
        }
        for host in [
            "",
            "evil.example",
            "evil.example:7",
            "localhost.evil.example",
            "127.0.0.1.nip.io:7",
            "0.0.0.0:7",
            "[::1]:7",
        ] {
            assert_eq!(is_answered(host, None, "/abc/"), None, "{host}");
        }
        for target in [
            "",
            "/",
            "abc/",
            "/abc",
            "/abd/",
            "/ab/",
            "/abcd/",
            "//abc/",
            "http://127.0.0.1/abc/",
            "*",
        ] {
            assert_eq!(is_answered("127.0.0.1", None, target), None, "{target}");
        }
        assert_eq!(
            is_answered("127.0.0.1", None, "/abc/a/b?c"),
            Some("a/b?c".to_owned())
        );
    }

    #[test]
    fn tokens_are_long_and_differ() {
        let tokens = [(); 2].map(|()| Token::random().expect("the system has random bytes"));
        assert_eq!(tokens[0].as_str().len(), 32);
        assert!(!tokens[0].is(tokens[1].as_str()) && tokens[0].is(tokens[0].as_str()));
    }
}
