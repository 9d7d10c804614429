//! Shows the values of traced calls: the receiver, the arguments and the result. Their names and types come from the
//! class file, and their texts from the tracker.
//!
//! A value that may be a secret is masked here, so that it does not leave the process. A secret is recognised by words
//! such as `password` in the value's name, class or text. If the text of a value contains such a word, the other texts
//! of the call are masked, too, because secrets are often passed with their names: `setProperty("password", …)`.

use std::collections::HashMap;

use loadhook_rewrite::Structure;
use loadhook_rewrite::class::{Member, access};
use loadhook_rewrite::code::{Bci, local_table};
use loadhook_rewrite::descriptor::{parameters, return_type, slots};
use loadhook_settings::control::CallValues;

/// The maximum number of methods whose signatures are kept. The values of further methods are not shown, because they
/// could not be masked.
const MOST_METHODS: usize = 1 << 16;

/// The words by which secrets are recognised. Characters between words, as in `api_key`, are left out.
const SECRETS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "authorization",
    "credential",
    "cookie",
    "bearer",
    "jwt",
    "passcode",
    "sessionid",
];

const MASK: &str = "***";

/// The signatures of traced methods, by the ids of the methods.
#[derive(Default)]
pub(super) struct Values(HashMap<u32, Signature>);

/// The names and types of a method's values.
struct Signature {
    method: String,
    has_this: bool,
    /// Name and type of each parameter. A type is the first byte of its descriptor.
    parameters: Vec<(String, u8)>,
    /// The type of the result; `None` for `void`.
    result: Option<u8>,
}

impl Values {
    /// Notes the names and types of a method's values.
    pub(super) fn note(&mut self, id: u32, method: &Member<'_, '_>) {
        if self.0.len() < MOST_METHODS {
            self.0.insert(id, Signature::of(method));
        }
    }

    /// Returns the values of a call. `texts` are the tracker's texts, beginning with the result unless the call has
    /// thrown an exception. The last texts may be missing.
    pub(super) fn of_call(&self, id: u32, texts: &[&str], has_thrown: bool) -> CallValues {
        let mut values = CallValues::default();
        let Some(signature) = self.0.get(&id) else {
            return values;
        };
        let tells = texts.iter().any(|text| tells_secret(text));
        let shown = |text: &str, name: &str, of_type| {
            if tells && is_text(parts(text).0) {
                return MASK.to_owned();
            }
            shown(text, name, of_type)
        };
        let mut texts = texts.iter();
        if let Some(result) = signature.result.filter(|_| !has_thrown) {
            let text = texts.next();
            values.result = text.map(|text| shown(text, &signature.method, result));
        }
        if signature.has_this {
            values.this = texts.next().map(|text| shown(text, "this", b'L'));
        }
        for ((name, of_type), text) in signature.parameters.iter().zip(texts) {
            let value = (name.clone(), shown(text, name, *of_type));
            values.arguments.push(value);
        }
        values
    }
}

impl Signature {
    fn of(method: &Member<'_, '_>) -> Signature {
        let is_static = method.access_flags() & access::STATIC != 0;
        let mut slot = u16::from(!is_static);
        let named = variables(method);
        let declared = declared_names(method);
        let mut all = Vec::new();
        for (at, parameter) in parameters(method.descriptor()).enumerate() {
            let name = named.get(&slot).or_else(|| declared.get(at)?.as_ref());
            let name = name.cloned().unwrap_or_else(|| format!("arg{at}"));
            all.push((name, parameter.first().copied().unwrap_or(b'L')));
            slot = slot.saturating_add(slots(parameter) as u16);
        }
        let result = return_type(method.descriptor()).and_then(|it| it.first().copied());
        Signature {
            method: text(method.name()),
            has_this: !is_static && method.name() != b"<init>",
            parameters: all,
            result: result.filter(|it| *it != b'V'),
        }
    }
}

/// Returns the names of the local variables that have a value at the beginning of the method, by their slots.
fn variables(method: &Member<'_, '_>) -> HashMap<u16, String> {
    let mut names = HashMap::new();
    let pool = method.class().pool();
    let code = method.code().ok().flatten();
    let attributes = code.iter().flat_map(|code| code.attributes().flatten());
    for attribute in attributes {
        if pool.utf8(attribute.name_index).ok() != Some(b"LocalVariableTable") {
            continue;
        }
        let reader = attribute.reader(Structure::Named("LocalVariableTable"));
        let entries = local_table::entries(reader).into_iter().flatten();
        for entry in entries.filter(|entry| entry.start_pc == Bci(0)) {
            if let Ok(name) = pool.utf8(entry.name_index) {
                names.insert(entry.index, text(name));
            }
        }
    }
    names
}

/// Returns the names in `MethodParameters` (JVMS §4.7.24), which javac writes with the option `-parameters`.
fn declared_names(method: &Member<'_, '_>) -> Vec<Option<String>> {
    let pool = method.class().pool();
    let mut attributes = method.attributes().flatten();
    let attribute =
        attributes.find(|it| pool.utf8(it.name_index).ok() == Some(b"MethodParameters"));
    // The attribute has the number of parameters, and for each parameter the index of its name (0 for no name) and its
    // flags.
    let entries = attribute
        .and_then(|it| it.info.get(1..))
        .unwrap_or_default();
    let names = entries.chunks_exact(4).map(|entry| {
        let index = loadhook_rewrite::CpIndex::from_be_bytes([entry[0], entry[1]]);
        pool.utf8(index).ok().map(text)
    });
    names.collect()
}

fn text(utf8: &[u8]) -> String {
    String::from_utf8_lossy(utf8).into_owned()
}

/// Converts the tracker's text of a value to the text that the user sees. The tracker's text has a letter for the kind
/// of the value, and the value; see `TracedValue.java`.
fn shown(text: &str, name: &str, of_type: u8) -> String {
    let (kind, class, value) = parts(text);
    let class = class.rsplit('.').next().unwrap_or(class);
    if value == "null" && kind == "n" {
        return value.to_owned();
    }
    if is_secret(name) || is_secret(class) || is_text(kind) && is_secret(value) {
        return MASK.to_owned();
    }
    let number = value.parse::<u32>().ok().filter(|_| kind == "i");
    match (of_type, number) {
        (b'Z', Some(number)) => (number != 0).to_string(),
        (b'C', Some(number)) => char::from_u32(number)
            .map_or_else(|| format!("'\\u{number:04x}'"), |char| format!("{char:?}")),
        _ => value.to_owned(),
    }
}

/// Splits the tracker's text of a value. Returns the kind of the value, its class (empty unless the text is a result of
/// `toString`), and its text.
fn parts(text: &str) -> (&str, &str, &str) {
    let (kind, value) = text.split_once(' ').unwrap_or((text, ""));
    let (class, value) = match kind {
        "c" => value.split_once(' ').unwrap_or(("", value)),
        _ => ("", value),
    };
    (kind, class, value)
}

/// Returns whether values of this kind are texts: strings and results of `toString`.
fn is_text(kind: &str) -> bool {
    matches!(kind, "c" | "t")
}

/// Returns whether a value may be the name of a secret: a text, or a constant of an enum.
fn tells_secret(text: &str) -> bool {
    let (kind, _, value) = parts(text);
    (is_text(kind) || kind == "n") && is_secret(value)
}

fn is_secret(text: &str) -> bool {
    let letters = text.chars().filter(|char| !" _-.".contains(*char));
    let letters: String = letters.flat_map(char::to_lowercase).collect();
    SECRETS.iter().any(|word| letters.contains(word))
}

#[cfg(test)]
mod tests {
    use loadhook_rewrite::ClassFile;

    use super::*;

    #[test]
    fn secrets_are_masked() {
        for (text, name, value) in [
            ("t \"open sesame\"", "api_key", MASK),
            ("i 1234", "userPassword", MASK),
            ("n null", "token", "null"),
            ("t \"Authorization: Basic YTpi\"", "header", MASK),
            ("c a.Credentials me:you", "it", MASK),
            ("c a.Credentials$Kind BASIC", "it", MASK),
            ("c java.lang.StringBuilder {secret=1}", "it", MASK),
            ("c a.Order Order 7", "it", "Order 7"),
            ("t \"author\"", "name", "\"author\""),
            ("o char[8]", "pwd", MASK),
            ("o char[8]", "chars", "char[8]"),
        ] {
            assert_eq!(shown(text, name, b'L'), value, "{text} {name}");
        }
    }

    /// `setProperty("db.password", "x")`: the name is in one value, the secret in another.
    #[test]
    fn texts_beside_the_name_of_a_secret_are_masked() {
        let parameters = ["key", "value"].map(|name| (name.to_owned(), b'L'));
        let signature = Signature {
            method: "put".to_owned(),
            has_this: true,
            parameters: parameters.into(),
            result: Some(b'L'),
        };
        let values = Values(HashMap::from([(7, signature)]));
        let masked = Some(MASK.to_owned());
        for (key, key_shown) in [
            ("t \"db.password\"", MASK),
            ("c a.Header authorization", MASK),
            ("n SESSION_ID", "SESSION_ID"),
        ] {
            let texts = ["t \"old\"", "c a.Map {}", key, "t \"x\""];
            let call = values.of_call(7, &texts, false);
            let [key, value] = &call.arguments[..] else {
                panic!("{call:?}");
            };
            assert_eq!((&*key.1, &*value.1), (key_shown, MASK));
            assert_eq!((&call.this, &call.result), (&masked, &masked));
        }
        let harmless = ["n null", "o a.Map@1", "t \"user\"", "t \"x\""];
        let call = values.of_call(7, &harmless, false);
        assert_eq!(call.arguments[1].1, "\"x\"");
        let number = ["n null", "o a.Map@1", "t \"token\"", "n 5"];
        let call = values.of_call(7, &number, false);
        assert_eq!(call.this.as_deref(), Some("a.Map@1"));
        assert_eq!(call.arguments[1].1, "5");
    }

    #[test]
    fn numbers_have_the_form_of_their_types() {
        let shown = |text, of_type| shown(text, "it", of_type);
        assert_eq!([shown("i 1", b'Z'), shown("i 0", b'Z')], ["true", "false"]);
        assert_eq!([shown("i 97", b'C'), shown("i 10", b'C')], ["'a'", "'\\n'"]);
        assert_eq!(
            [shown("i 55296", b'C'), shown("i -3", b'B')],
            ["'\\ud800'", "-3"]
        );
        assert_eq!(shown("n 1.5", b'D'), "1.5");
    }

    #[test]
    fn values_belong_to_parameters() {
        let bytes = include_bytes!("../../../rewrite/doc/Greeter.class");
        let class = ClassFile::parse(bytes).expect("it is a class");
        let mut values = Values::default();
        for method in class.methods() {
            values.note(method.index().into(), &method);
        }
        let of_call = |name: &[u8], texts: &[&str], has_thrown| {
            let method = class.methods().find(|it| it.name() == name);
            let method = method.expect("it has the method");
            values.of_call(method.index().into(), texts, has_thrown)
        };
        // The class has neither names of variables nor of parameters.
        let made = of_call(b"<init>", &["t \"you\""], false);
        let expected = CallValues {
            arguments: vec![("arg0".to_owned(), "\"you\"".to_owned())],
            ..CallValues::default()
        };
        assert_eq!(made, expected);
        let texts = ["t \"Hello\"", "o Greeter@1"];
        let greeted = of_call(b"greet", &texts, false);
        let expected = CallValues {
            this: Some("Greeter@1".to_owned()),
            result: Some("\"Hello\"".to_owned()),
            ..CallValues::default()
        };
        assert_eq!(greeted, expected);
        let thrown = of_call(b"greet", &texts[1..], true);
        assert_eq!((thrown.this.is_some(), thrown.result), (true, None));
        let unknown = values.of_call(1000, &["i 7"], false);
        assert_eq!(unknown, CallValues::default());
    }
}
