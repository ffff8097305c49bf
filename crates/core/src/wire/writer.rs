//! JSON as `serde_json` writes it, by code that is small: for device code that a page downloads.

use std::fmt::Write;

/// An object that is being written.
pub(crate) struct Writer(String);

impl Writer {
    /// A message of this kind, before its fields.
    pub(crate) fn message(kind: super::Kind) -> Self {
        Writer(format!(r#"{{"kind":"{}","version":{}"#, kind.name(), kind.version()))
    }

    /// A field whose value is written as it is: a number, or a text that needs no escapes in its quotes.
    pub(crate) fn field(&mut self, name: &str, value: std::fmt::Arguments<'_>) {
        write!(self.0, ",\"{name}\":{value}").expect("a text takes everything");
    }

    /// A field of finite numbers, or of none.
    pub(crate) fn numbers(&mut self, name: &str, numbers: Option<&[f64]>) {
        let Some(numbers) = numbers else { return self.field(name, format_args!("null")) };
        self.field(name, format_args!("["));
        for (index, number) in numbers.iter().enumerate() {
            if index > 0 {
                self.0.push(',');
            }
            self.number(*number);
        }
        self.0.push(']');
    }

    /// The shortest digits that are read as the same double.
    fn number(&mut self, number: f64) {
        let written = match number.abs() {
            // `{:?}` has an exponent here already.
            1e-5..1e-4 => write!(self.0, "{number}"),
            1e16.. => {
                let text = format!("{number:e}");
                let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
                write!(self.0, "{digits}e+{exponent}")
            }
            _ => write!(self.0, "{number:?}"),
        };
        written.expect("a text takes everything");
    }

    /// The whole object.
    pub(crate) fn finish(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(numbers: &[f64]) -> String {
        let mut writer = Writer(String::new());
        writer.numbers("x", Some(numbers));
        writer.finish()
    }

    fn expected(numbers: &[f64]) -> String {
        format!(",\"x\":{}}}", serde_json::to_string(numbers).unwrap())
    }

    #[test]
    fn numbers_around_every_power_of_ten_are_those_of_serde_json() {
        for exponent in -308..=308 {
            let power: f64 = format!("1e{exponent}").parse().unwrap();
            for number in [power, power.next_down(), power.next_up(), 1.5 * power, -power] {
                assert_eq!(written(&[number]), expected(&[number]));
            }
        }
        let edges = [0.0, -0.0, 1.0, 5e-324, f64::MIN_POSITIVE, f64::MAX, 9007199254740993.0];
        assert_eq!(written(&edges), expected(&edges));
        assert_eq!(written(&[]), expected(&[]));
    }

    /// A number midway between two shortest forms: serde_json takes the even digit and the standard library the larger one, and both are read as the same.
    #[test]
    fn a_number_between_two_shortest_forms_is_read_as_it_was() {
        let tie = 1043520713387903.25;
        assert_eq!(written(&[tie]), ",\"x\":[1043520713387903.3]}");
        assert_eq!(expected(&[tie]), ",\"x\":[1043520713387903.2]}");
        assert_eq!("1043520713387903.3".parse(), Ok(tie));
    }

    proptest! {
        #[test]
        fn all_doubles_are_read_as_they_were_and_as_short_as_those_of_serde_json(bits: u64, near in -1e3..1e3) {
            let number = f64::from_bits(bits);
            let numbers = [if number.is_finite() { number } else { 1.0 }, near];
            let text = written(&numbers);
            prop_assert_eq!(text.len(), expected(&numbers).len());
            let read: Vec<f64> = serde_json::from_str(&text[5..text.len() - 1]).unwrap();
            prop_assert_eq!(read.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), numbers.map(f64::to_bits));
        }
    }
}
