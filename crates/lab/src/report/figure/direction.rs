//! Text from right to left inside text from left to right.

use std::borrow::Cow;

/// Begins and ends what has a direction of its own: numbers after it are not drawn into it.
const BEGINNING: char = '\u{2068}';
const END: char = '\u{2069}';

/// Tells whether a letter is of Hebrew, Arabic, Syriac, Thaana or N'Ko, which are written from right to left.
fn is_leftward(letter: char) -> bool {
    matches!(letter, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

/// Tells whether a letter is a sign that begins or ends another direction.
pub(super) fn directs(letter: char) -> bool {
    [BEGINNING, END].contains(&letter)
}

/// The text with each run of words from right to left by itself.
pub(crate) fn isolated(text: &str) -> Cow<'_, str> {
    if !text.contains(is_leftward) || text.contains(directs) {
        return text.into();
    }
    let (mut written, mut rest) = (String::new(), text);
    while let Some(from) = rest.find(is_leftward) {
        // Up to the last of its letters before any that is written from left to right.
        let run = &rest[from..];
        let until = run.find(|letter: char| letter.is_alphanumeric() && !is_leftward(letter));
        let run = run[..until.unwrap_or(run.len())].trim_end_matches(|letter| !is_leftward(letter));
        written += &format!("{}{BEGINNING}{run}{END}", &rest[..from]);
        rest = &rest[from + run.len()..];
    }
    (written + rest).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_from_right_to_left_are_by_themselves() {
        assert_eq!(isolated("learner, 1 of 12 stuck"), "learner, 1 of 12 stuck");
        let (name, other) = ("\u{62e}\u{644}\u{637} \u{62e}", "\u{5d0}");
        let text = format!("a {name}, 1 of 12 stuck; {other}, 2");
        let isolated = isolated(&text);
        let parts = format!("a \u{2068}{name}\u{2069}, 1 of 12 stuck; \u{2068}{other}\u{2069}, 2");
        assert_eq!(isolated, parts);
        assert_eq!(super::isolated(&isolated), parts, "once");
    }
}
