//! Values of fields as Java prints them.

use std::fmt::{Debug, LowerExp};

use loadhook_hprof::Type;

/// Returns a value in Java's notation; for a reference, its identifier.
pub(crate) fn java_value(value_type: Type, bits: u64) -> String {
    match value_type {
        Type::Object if bits == 0 => "null".to_owned(),
        Type::Object => format!("{bits:#x}"),
        Type::Boolean => (bits != 0).to_string(),
        Type::Char => format!("'{}'", String::from_utf16_lossy(&[bits as u16])),
        Type::Float => floating(f32::from_bits(bits as u32)),
        Type::Double => floating(f64::from_bits(bits)),
        Type::Byte => (bits as i8).to_string(),
        Type::Short => (bits as i16).to_string(),
        Type::Int => (bits as i32).to_string(),
        Type::Long => (bits as i64).to_string(),
    }
}

/// Returns a number as `Double.toString` of JDK 19 and later prints it: with the fewest digits that
/// identify it, but at least two, and with an exponent if it is very small or large.
fn floating<T: Copy + Debug + LowerExp + Into<f64>>(value: T) -> String {
    let wide: f64 = value.into();
    if wide.is_infinite() {
        return if wide > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    if wide.is_nan() || wide == 0.0 || (1e-3..1e7).contains(&wide.abs()) {
        return format!("{value:?}");
    }
    let shortest = format!("{value:e}");
    let text = if shortest.contains('.') {
        shortest
    } else {
        format!("{value:.1e}")
    };
    text.replace('e', "E")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_java_does() {
        let doubles = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-2.5, "-2.5"),
            (0.001, "0.001"),
            (0.000_999, "9.99E-4"),
            (9_999_999.5, "9999999.5"),
            (1e7, "1.0E7"),
            (-123_456_789.0, "-1.23456789E8"),
            (1e300, "1.0E300"),
            (2e-5, "2.0E-5"),
            (f64::from_bits(1), "4.9E-324"),
            (f64::MAX, "1.7976931348623157E308"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
            (f64::NAN, "NaN"),
        ];
        for (value, text) in doubles {
            assert_eq!(floating(value), text);
        }
        let floats = [
            (0.1_f32, "0.1"),
            (0.001, "0.001"),
            (16_777_216.0, "1.6777216E7"),
            (f32::from_bits(1), "1.4E-45"),
            (f32::MAX, "3.4028235E38"),
        ];
        for (value, text) in floats {
            assert_eq!(floating(value), text);
        }
    }
}
