//! Doubles from decimal digits by simple arithmetic on the digits: exact, slow, and without the tables of the standard library, which are a tenth of what
//! a page may download.

/// Digits that are kept: no number half way between two doubles has more than 767.
const MOST_DIGITS: usize = 800;

/// Powers of two that are multiplied by or divided by at a time, so that a word holds ten times as much.
const MOST_POWER: u32 = 53;

/// Result of `text.parse()`, in builds where the size counts by little code.
pub(crate) fn number(text: &str) -> Option<f64> {
    if cfg!(little) { parse(text) } else { text.parse().ok() }
}

/// The number `0.d_1 d_2 ... 10^point`, and a little more if digits were left out.
struct Decimal {
    digits: Vec<u8>,
    point: i64,
    more: bool,
}

/// The double nearest to a text, to even if two are; what the standard library does not read is `None` here too.
fn parse(text: &str) -> Option<f64> {
    let (negative, rest) = match text.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let is = |word: &[u8]| rest.eq_ignore_ascii_case(word);
    let size = match () {
        () if is(b"inf") || is(b"infinity") => f64::INFINITY,
        () if is(b"nan") => f64::NAN,
        () => Decimal::read(rest)?.double(),
    };
    Some(if negative { -size } else { size })
}

impl Decimal {
    fn read(text: &[u8]) -> Option<Self> {
        let mut decimal = Decimal { digits: Vec::new(), point: 0, more: false };
        let (mut seen, mut fraction, mut at) = (false, false, 0);
        while let Some(&byte) = text.get(at) {
            match byte {
                b'0'..=b'9' => {
                    seen = true;
                    let counted = !decimal.digits.is_empty() || byte != b'0';
                    decimal.point += i64::from(counted && !fraction);
                    decimal.point -= i64::from(!counted && fraction);
                    if counted {
                        decimal.push(byte - b'0');
                    }
                }
                b'.' if !fraction => fraction = true,
                _ => break,
            }
            at += 1;
        }
        if let Some((b'e' | b'E', exponent)) = text[at..].split_first() {
            let (down, digits) = match exponent {
                [b'-', digits @ ..] => (true, digits),
                [b'+', digits @ ..] => (false, digits),
                digits => (false, digits),
            };
            let sound = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
            // Far below the number of digits that a text can have.
            let size = digits
                .iter()
                .fold(0_i64, |sum, digit| (10 * sum + i64::from(digit & 15)).min(i64::MAX / 100));
            decimal.point = decimal.point.saturating_add(if down { -size } else { size });
            at = text.len();
            seen &= sound;
        }
        (seen && at == text.len()).then_some(decimal)
    }

    fn push(&mut self, digit: u8) {
        match self.digits.len() < MOST_DIGITS {
            true => self.digits.push(digit),
            false => self.more |= digit > 0,
        }
    }

    /// Multiplies by `2^power`.
    fn multiply(&mut self, power: u32) {
        let mut carry = 0_u64;
        for digit in self.digits.iter_mut().rev() {
            carry += u64::from(*digit) << power;
            *digit = (carry % 10) as u8;
            carry /= 10;
        }
        let mut front = Vec::new();
        while carry > 0 {
            front.push((carry % 10) as u8);
            carry /= 10;
        }
        self.point += front.len() as i64;
        let rest = std::mem::take(&mut self.digits);
        front.into_iter().rev().chain(rest).for_each(|digit| self.push(digit));
        while self.digits.last() == Some(&0) {
            self.digits.pop();
        }
    }

    /// Divides by `2^power`.
    fn divide(&mut self, power: u32) {
        let digits = std::mem::take(&mut self.digits);
        let mut digits = digits.into_iter();
        let mut rest = 0_u64;
        loop {
            let next = digits.next();
            if next.is_none() && (rest == 0 || self.digits.len() == MOST_DIGITS) {
                break;
            }
            rest = 10 * rest + u64::from(next.unwrap_or(0));
            let digit = (rest >> power) as u8;
            rest &= (1 << power) - 1;
            match self.digits.is_empty() && digit == 0 {
                true => self.point -= 1,
                false => self.push(digit),
            }
        }
        self.more |= rest > 0;
    }

    /// The nearest double.
    fn double(mut self) -> f64 {
        if self.digits.is_empty() || self.point < -330 {
            return 0.0;
        }
        if self.point > 310 {
            return f64::INFINITY;
        }
        // As `x 2^exponent` with x from 1/2 to below 1; smaller where the exponent would be too small for a double.
        let mut exponent = 0;
        while self.point > 0 {
            let power = (3 * (self.point - 1) as u32).clamp(1, MOST_POWER);
            self.divide(power);
            exponent += power as i32;
        }
        while self.point < 0 || self.digits[0] < 5 {
            let power = (3 * -self.point as u32).clamp(1, MOST_POWER);
            self.multiply(power);
            exponent -= power as i32;
        }
        while exponent < -1021 {
            let power = (-1021 - exponent).min(MOST_POWER as i32);
            self.divide(power as u32);
            exponent += power;
        }
        self.multiply(53);
        let mut whole = self.rounded();
        if whole >> 53 > 0 {
            whole >>= 1;
            exponent += 1;
        }
        match whole >> 52 {
            // Below the normal doubles.
            0 => f64::from_bits(whole),
            _ if exponent > 1024 => f64::INFINITY,
            _ => f64::from_bits(((exponent + 1022) as u64) << 52 | whole & ((1 << 52) - 1)),
        }
    }

    /// The nearest whole number, the even one of two.
    fn rounded(&self) -> u64 {
        let digit = |at: i64| {
            usize::try_from(at).ok().and_then(|at| self.digits.get(at)).copied().unwrap_or(0)
        };
        let whole = (0..self.point).fold(0, |sum, at| 10 * sum + u64::from(digit(at)));
        let behind = usize::try_from(self.point + 1).unwrap_or(0);
        let more = self.more || self.digits.len() > behind || self.point < 0;
        let up = match digit(self.point) {
            _ if self.point < 0 => false,
            5 => more || whole % 2 == 1,
            first => first > 5,
        };
        whole + u64::from(up)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn same(text: &str) {
        let bits = |number: Option<f64>| number.map(f64::to_bits);
        assert_eq!(bits(parse(text)), bits(text.parse().ok()), "{text}");
    }

    #[test]
    fn texts_of_every_form_are_those_of_the_standard_library() {
        for text in [
            "0",
            "-0",
            "+0.0",
            "1",
            "-1.5",
            ".5",
            "5.",
            ".",
            "",
            "-",
            "+",
            "e5",
            "1e",
            "1e+",
            "1e5",
            "1E-5",
            "1e5x",
            "1..2",
            "inf",
            "-INF",
            "Infinity",
            "nan",
            "NaN",
            "infinit",
            "0x10",
            " 1",
            "1 ",
            "1e99999999999999999999",
            "1e-99999999999999999999",
            "0e99999999999999999999",
            "9007199254740993",
            "9007199254740992.9999",
            "9007199254740993.00000000000000000001",
            "1.7976931348623157e308",
            "1.7976931348623158e308",
            "1.7976931348623159e308",
            "2.2250738585072011e-308",
            "2.2250738585072014e-308",
            "4.9406564584124654e-324",
            "2.4703282292062327e-324",
            "2.4703282292062328e-324",
            "1e-400",
            "0.1",
            "0.3",
            "123456789012345678901234567890",
            "1e22",
            "1e23",
            "8.5e-1",
            "00012.500",
            "1e00005",
        ] {
            same(text);
        }
        for exponent in -345..=312 {
            for digits in ["1", "9.999999999999999", "4.35", "17", "2.2250738585072014"] {
                same(&format!("{digits}e{exponent}"));
            }
        }
        // All digits of doubles, as many as 767.
        for bits in [1_u64, 2, 1 << 52, (1 << 52) - 1, 0x3ff0_0000_0000_0001, 0x10_0000_0000_0007] {
            same(&format!("{:.1100}", f64::from_bits(bits)));
        }
        let tie = "9007199254740993";
        for text in [format!("{tie}.{}", "0".repeat(900)), format!("{tie}.{}1", "0".repeat(900))] {
            same(&text);
        }
    }

    proptest! {
        #[test]
        fn all_doubles_and_their_neighbours_in_decimal(bits: u64, cut in 1_usize..25, exponent in -400..400) {
            let number = f64::from_bits(bits);
            if number.is_finite() {
                same(&number.to_string());
                let digits = format!("{number:.24e}");
                let (mantissa, power) = digits.split_once('e').unwrap();
                same(&format!("{}e{power}", &mantissa[..mantissa.len().min(cut + 2)]));
                same(&format!("{mantissa}e{exponent}"));
            }
        }

        /// The middle of two neighbours is a number of 54 bits, whose decimal digits are exact as an integer or after a few halvings.
        #[test]
        fn ties_go_to_even(mantissa in (1_u64 << 53)..(1 << 54), power in 0_u32..60, down: bool) {
            let odd = u128::from(mantissa | 1);
            match down {
                false => same(&(odd << power).to_string()),
                true => {
                    // odd / 2^power = odd 5^power / 10^power.
                    let power = power % 28;
                    same(&format!("{}e-{power}", odd * 5_u128.pow(power)));
                }
            }
        }

        #[test]
        fn any_text(text in "[-+0-9.eE]{0,12}") {
            same(&text);
        }
    }
}
