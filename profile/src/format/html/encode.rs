//! The compact form of a page's trees and tables: numbers of variable length, in base64. A million
//! nodes take about 12 MB, which a browser reads in a fraction of a second. The reader is
//! `page/data.js`.

/// A growing list of numbers. Each byte has 7 bits of a number, the lowest first; the eighth bit is
/// set if more bytes follow.
#[derive(Default)]
pub(super) struct Numbers(Vec<u8>);

impl Numbers {
    pub(super) fn push(&mut self, mut number: u64) {
        while number > 0x7f {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// Adds a value rounded to a whole number; negative values become 0.
    pub(super) fn push_rounded(&mut self, value: f64) {
        self.push(value.round() as u64);
    }

    /// Returns the numbers as text in base64 (RFC 4648 §4), with padding.
    pub(super) fn base64(&self) -> String {
        const LETTERS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::with_capacity(self.0.len().div_ceil(3) * 4);
        for chunk in self.0.chunks(3) {
            let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
            let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
            for place in 0..4 {
                let sextet = bits >> (18 - 6 * place) & 63;
                text.push(if place <= chunk.len() {
                    char::from(LETTERS[sextet as usize])
                } else {
                    '='
                });
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::Numbers;

    #[test]
    fn numbers_take_seven_bits_a_byte() {
        let mut numbers = Numbers::default();
        for number in [0, 127, 128, u64::MAX] {
            numbers.push(number);
        }
        numbers.push_rounded(-1.0);
        let mut expected = vec![0, 127, 0x80, 1];
        expected.extend([0xff; 9]);
        expected.extend([1, 0]);
        assert_eq!(numbers.0, expected);
    }

    #[test]
    fn base64_is_padded() {
        let text = |bytes: &[u8]| Numbers(bytes.to_vec()).base64();
        let pairs = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
        ];
        for (plain, coded) in pairs {
            assert_eq!(text(plain.as_bytes()), coded);
        }
        assert_eq!(text(&[0xff, 0xef, 0xbe]), "/+++");
    }
}
