//! The font of pictures: Noto Sans, which is part of the program. It has Latin, Greek and Cyrillic letters.
//!
//! An SVG names the generic family, so that its viewer chooses a font. A PNG has a box for each letter that Noto Sans lacks, and the caller warns.

use std::sync::{LazyLock, Once};

use plotters::{
    prelude::*,
    style::{FontStyle, register_font},
};
use ttf_parser::Face;

use super::direction::directs;

/// The generic family of all text.
pub(super) const FAMILY: &str = "sans-serif";

/// Noto Sans.
pub(super) static FACE: LazyLock<Face<'static>> = LazyLock::new(|| {
    Face::parse(notosans::REGULAR_TTF, 0).expect("the font that is part of the program is valid")
});

/// The letters of a text that a PNG shows as boxes, each once.
pub fn undrawable(text: &str) -> Vec<char> {
    let lacks = |letter: &char| {
        !letter.is_whitespace() && !is_silent(*letter) && FACE.glyph_index(*letter).is_none()
    };
    let mut missing: Vec<char> = text.chars().filter(lacks).collect();
    missing.sort_unstable();
    missing.dedup();
    missing
}

/// A letter without a shape of its own: a joiner, a variation selector, or the sign of a direction.
pub(super) fn is_silent(letter: char) -> bool {
    directs(letter) || matches!(letter, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

/// A sign that stands on the letter before it: accents, and the vowels of Hebrew, Arabic, Indic scripts and Thai.
fn is_mark(letter: char) -> bool {
    is_silent(letter)
        || matches!(letter,
            '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5bd}'
            | '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}' | '\u{20d0}'..='\u{20ff}'
            | '\u{e31}' | '\u{e34}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}')
        // The blocks of Indic scripts have 128 letters each, in the same order.
        || matches!(u32::from(letter), 0x900..=0xd7f)
            && matches!(u32::from(letter) % 0x80, 0x00..=0x03 | 0x3c | 0x3e..=0x4d | 0x55..=0x57)
}

/// The parts of a word that are not broken: a letter with its marks.
fn parts(word: &str) -> Vec<&str> {
    let starts = word.char_indices().filter(|(at, letter)| *at == 0 || !is_mark(*letter));
    let mut ends: Vec<usize> = starts.map(|(at, _)| at).collect();
    ends.push(word.len());
    ends.windows(2).map(|ends| &word[ends[0]..ends[1]]).collect()
}

/// Measures text with the program's font.
pub(super) fn use_own() {
    static FONT: Once = Once::new();
    FONT.call_once(|| {
        // Drawing reports an unreadable font by itself.
        let _ = register_font(FAMILY, FontStyle::Normal, notosans::REGULAR_TTF);
    });
}

/// The width of a text. The fonts of viewers are up to a tenth wider than Noto Sans.
pub(super) fn width(text: &str, size: u32) -> u32 {
    // The backend writes `size / 1.24` as the size of an SVG's font, and measures by the height of the font's box, which is 1.36 em.
    const WIDER: f64 = 1.1 * 1.36 / 1.24;
    use_own();
    let (wide, narrow): (Vec<char>, Vec<char>) = text.chars().partition(|c| *c >= '\u{1100}');
    let narrow: String = narrow.into_iter().collect();
    let measured = (FAMILY, size).into_font().box_size(&narrow).map_or(0, |(width, _)| width);
    // Letters of Chinese, Japanese and Korean are as wide as high.
    (WIDER * f64::from(measured) + f64::from(size) / 1.24 * wide.len() as f64).ceil() as u32
}

/// The text in lines of at most this width, broken between words, or within a word that is longer.
pub(super) fn wrapped(text: &str, size: u32, room: u32) -> Vec<String> {
    let fits = |line: &str| width(line, size) <= room;
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always one");
        let longer = if line.is_empty() { word.to_string() } else { format!("{line} {word}") };
        if fits(&longer) {
            *line = longer;
            continue;
        }
        if !line.is_empty() {
            lines.push(String::new());
        }
        for part in parts(word) {
            let line = lines.last_mut().expect("there is always one");
            let longer = format!("{line}{part}");
            if line.is_empty() || fits(&longer) {
                *line = longer;
            } else {
                lines.push(part.to_string());
            }
        }
    }
    lines.retain(|line| !line.is_empty());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_broken_between_letters_with_their_marks() {
        assert_eq!(parts("ab"), ["a", "b"]);
        assert_eq!(parts("e\u{301}a"), ["e\u{301}", "a"]);
        assert_eq!(parts("नीति"), ["नी", "ति"]);
        assert_eq!(parts("ที่นี่"), ["ที่", "นี่"]);
        assert_eq!(parts("شش").concat(), "شش");
        assert_eq!(parts("🎲"), ["🎲"]);
        assert!(parts("").is_empty());
    }

    #[test]
    fn letters_that_the_font_lacks_are_named() {
        // Latin, Greek, Cyrillic and Vietnamese.
        assert!(undrawable("Cost of privacy: Δοκιμή, проверка, thử nghiệm <&> ±").is_empty());
        assert_eq!(undrawable("a \u{10fffd}b \u{10fffd}"), ['\u{10fffd}']);
        assert!(undrawable("ab\u{200d}c\u{fe0f}").is_empty(), "no shape of their own");
        assert_eq!(undrawable("試 a 🎲"), ['試', '🎲']);
    }
}
