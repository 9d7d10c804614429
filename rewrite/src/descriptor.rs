//! Descriptors (JVMS §4.3): the types and slots of parameters and results.

/// Returns the field types of the parameters in a method descriptor, as the descriptor writes them.
///
/// The iterator ends early at a malformed type; [`return_type`] returns `None`
/// for such a descriptor.
pub fn parameters(descriptor: &[u8]) -> Parameters<'_> {
    Parameters {
        rest: descriptor.strip_prefix(b"(").unwrap_or_default(),
    }
}

/// The iterator that [`parameters`] returns.
#[derive(Clone, Debug)]
pub struct Parameters<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Parameters<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let len = field_type_len(self.rest)?;
        let (parameter, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(parameter)
    }
}

/// Returns the length in bytes of the field type at the beginning of `descriptor`; `None` if it is malformed.
fn field_type_len(descriptor: &[u8]) -> Option<usize> {
    let dimensions = descriptor.iter().take_while(|&&b| b == b'[').count();
    match descriptor.get(dimensions)? {
        b'B' | b'C' | b'D' | b'F' | b'I' | b'J' | b'S' | b'Z' => Some(dimensions + 1),
        b'L' => {
            let name = descriptor.get(dimensions..)?;
            Some(dimensions + name.iter().position(|&b| b == b';')? + 1)
        }
        _ => None,
    }
}

/// Returns the return type in a method descriptor: a field type, or `V`. Returns `None` if the descriptor is
/// malformed.
pub fn return_type(descriptor: &[u8]) -> Option<&[u8]> {
    let mut parameters = parameters(descriptor);
    parameters.by_ref().for_each(drop);
    // Read the parameters from the front, since class names may contain `)`.
    match parameters.rest.strip_prefix(b")")? {
        b"V" => Some(b"V"),
        result => (field_type_len(result)? == result.len()).then_some(result),
    }
}

/// Returns the number of local variable or operand-stack slots that a value of this field type takes (JVMS
/// §2.6.1): 2 for `J` and `D`, 0 for `V`, otherwise 1.
#[inline]
pub fn slots(field_type: &[u8]) -> usize {
    match field_type.first() {
        Some(b'J' | b'D') => 2,
        Some(b'V') | None => 0,
        Some(_) => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_parameters() {
        let all: Vec<_> = parameters(b"(IJ[[Ljava/lang/String;[DLa;)V").collect();
        assert_eq!(
            all,
            [
                b"I".as_slice(),
                b"J",
                b"[[Ljava/lang/String;",
                b"[D",
                b"La;"
            ]
        );
        assert_eq!(all.iter().map(|p| slots(p)).sum::<usize>(), 6);
        assert_eq!(return_type(b"(IJ)[I"), Some(b"[I".as_slice()));
        assert_eq!(return_type(b"()V"), Some(b"V".as_slice()));
        let odd = b"(Lt/Foo (bar);)Lt/Foo (bar);";
        assert_eq!(return_type(odd), Some(b"Lt/Foo (bar);".as_slice()));
    }

    #[test]
    fn malformed_descriptors_end_early() {
        assert_eq!(parameters(b"(ILfoo").count(), 1);
        assert_eq!(parameters(b"").count(), 0);
        assert_eq!(parameters(b"([").count(), 0);
        assert_eq!(return_type(b"(I"), None);
        assert_eq!(return_type(b"()II"), None);
    }
}
