//! Mutations of inputs.

use reticent::noise::Noise;

use crate::FastNoise;

/// Numbers that often cause faults.
const NUMBERS: [&str; 22] = [
    "0",
    "-1",
    "1",
    "2",
    "0.0",
    "-0.0",
    "1e308",
    "-1e308",
    "1e-320",
    "nan",
    "inf",
    "-inf",
    "18446744073709551615",
    "9223372036854775807",
    "-9223372036854775808",
    "4294967296",
    "1e18",
    "0.1",
    "1000000000000",
    "null",
    "true",
    "[]",
];

pub(super) struct Mutator {
    noise: FastNoise,
    seeds: Vec<Vec<u8>>,
}

impl Mutator {
    pub(super) fn new(seed: u64, seeds: Vec<Vec<u8>>) -> Self {
        Mutator { noise: FastNoise::seeded(seed), seeds }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.noise.below(bound.max(1) as u64) as usize
    }

    /// A seed, changed in one to four places; with `sealed`, its checksums are recomputed.
    pub(super) fn next(&mut self, sealed: bool) -> Vec<u8> {
        let which = self.below(self.seeds.len());
        let mut bytes = self.seeds[which].clone();
        for _ in 0..=self.below(4) {
            self.change(&mut bytes, !sealed);
        }
        bytes.truncate(1 << 16);
        if sealed && self.below(8) > 0 {
            seal(&mut bytes);
        }
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, text: bool) {
        if bytes.is_empty() {
            bytes.push(self.noise.bits() as u8);
            return;
        }
        let at = self.below(bytes.len());
        match self.below(if text { 12 } else { 6 }) {
            0 => bytes[at] ^= 1 << self.below(8),
            1 => bytes[at] = self.noise.bits() as u8,
            2 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][self.below(5)],
            3 => {
                let end = (at + 1 + self.below(8)).min(bytes.len());
                bytes.drain(at..end);
            }
            4 => {
                // Eight bytes of a double or an integer.
                let values = [
                    f64::NAN.to_bits(),
                    f64::INFINITY.to_bits(),
                    0,
                    u64::MAX,
                    1 << 63,
                    (-1.0_f64).to_bits(),
                    1e300_f64.to_bits(),
                ];
                let value = values[self.below(values.len())].to_le_bytes();
                for (byte, new) in bytes[at..].iter_mut().zip(value) {
                    *byte = new;
                }
            }
            5 => {
                // A piece of another seed.
                let other = self.below(self.seeds.len());
                let other = self.seeds[other].clone();
                let from = self.below(other.len());
                let to = (from + 1 + self.below(32)).min(other.len());
                let end = (at + to - from).min(bytes.len());
                bytes.splice(at..end, other[from..to].iter().copied());
            }
            6..=8 => self.number(bytes, at),
            9 => self.line(bytes),
            10 => {
                let piece = bytes[at..(at + 1 + self.below(24)).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {
                let signs = b"[]{}\",=.\n#-+eE0123456789 '";
                bytes.insert(at, signs[self.below(signs.len())]);
            }
        }
    }

    /// Another number in place of the next one.
    fn number(&mut self, bytes: &mut Vec<u8>, at: usize) {
        let is_part =
            |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'_' | b'-' | b'e');
        let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit).map(|off| at + off)
        else {
            return;
        };
        let length = bytes[start..].iter().take_while(|byte| is_part(byte)).count();
        let new = NUMBERS[self.below(NUMBERS.len())];
        bytes.splice(start..start + length, new.bytes());
    }

    /// A line removed, doubled, or exchanged with another.
    fn line(&mut self, bytes: &mut Vec<u8>) {
        let mut lines: Vec<Vec<u8>> =
            bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        let (one, two) = (self.below(lines.len()), self.below(lines.len()));
        match self.below(3) {
            0 => {
                lines.remove(one);
            }
            1 => {
                let line = lines[one].clone();
                lines.insert(two, line);
            }
            _ => lines.swap(one, two),
        }
        *bytes = lines.join(&b'\n');
    }
}

/// Recomputes the checksum of a saved state, those of nested states first.
pub(super) fn seal(bytes: &mut [u8]) {
    const MAGIC: &[u8] = b"RETICENT";
    let starts: Vec<usize> =
        (0..bytes.len()).filter(|&at| bytes[at..].starts_with(MAGIC)).collect();
    for &start in starts.iter().rev() {
        let state = &mut bytes[start..];
        if state.len() < 27 {
            continue;
        }
        let header = 11 + usize::from(state[10]);
        let end = if start == 0 {
            // The outermost state extends to the end of the input, whatever its length field says.
            let payload = state.len().saturating_sub(header + 16);
            if state.len() < header + 16 {
                continue;
            }
            state[header..header + 8].copy_from_slice(&(payload as u64).to_le_bytes());
            state.len()
        } else {
            let Some(length) = state.get(header..header + 8) else { continue };
            let length = u64::from_le_bytes(length.try_into().expect("8 bytes")) as usize;
            match header.checked_add(16).and_then(|n| n.checked_add(length)) {
                Some(end) if end <= state.len() => end,
                _ => continue,
            }
        };
        let sum = reticent::hash::of_bytes(&state[..end - 8]);
        state[end - 8..end].copy_from_slice(&sum.to_le_bytes());
    }
}
