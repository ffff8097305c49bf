//! Letters of several glyphs, as the syllables of Indic scripts: how wide they are, and where a word may be broken.
//!
//! usvg 0.45 takes the widest glyph of a cluster for the width of the whole cluster, and draws what follows over its other glyphs. The same shaper tells here how much is lacking, and the
//! text says it as `dx` of the letter after the cluster.

use resvg::usvg::fontdb::{Database, ID};
use rustybuzz::{Face, GlyphBuffer, Script, UnicodeBuffer, script};

/// The distances that the clusters of a text lack.
#[derive(Debug, Default)]
pub(super) struct Lacking {
    /// Before each letter of the text; empty if the library sets the text rightly.
    pub before: Vec<f32>,
    /// In the whole text, with what its last cluster lacks.
    pub all: f32,
}

/// What the clusters of a text in this font and size lack.
pub(super) fn lacking(text: &str, size: f32, font: ID, fonts: &Database) -> Lacking {
    let shaped = |data: &[u8], index| {
        let face = Face::from_slice(data, index)?;
        Some((shape(text, &face), size / face.units_per_em() as f32))
    };
    let Some((glyphs, scale)) = fonts.with_face_data(font, shaped).flatten() else {
        return Lacking::default();
    };
    let mut lacking = Lacking { before: vec![0.0; text.chars().count()], all: 0.0 };
    let advances = glyphs.glyph_positions().iter().map(|glyph| glyph.x_advance as f32);
    let advances: Vec<f32> = advances.collect();
    let (mut first, mut last) = (0, 0.0);
    for cluster in glyphs.glyph_infos().chunk_by(|one, other| one.cluster == other.cluster) {
        let letter = text[..cluster[0].cluster as usize].chars().count();
        lacking.before[letter] = last;
        let advances = &advances[first..first + cluster.len()];
        let widest = advances.iter().fold(0.0, |widest: f32, advance| widest.max(*advance));
        last = scale * (advances.iter().sum::<f32>() - widest);
        lacking.all += last;
        first += cluster.len();
    }
    if lacking.before.iter().all(|distance| *distance == 0.0) {
        lacking.before.clear();
    }
    lacking
}

fn shape(text: &str, face: &Face) -> GlyphBuffer {
    let mut letters = UnicodeBuffer::new();
    letters.push_str(text);
    rustybuzz::shape(face, &[], letters)
}

/// The script of a letter; none for those that all scripts share.
pub(super) fn script_of(letter: char) -> Option<Script> {
    let mut letters = UnicodeBuffer::new();
    letters.add(letter, 0);
    letters.guess_segment_properties();
    Some(letters.script()).filter(|found| *found != script::UNKNOWN)
}

/// The parts of a word that are not broken: a letter with its marks.
pub(super) fn parts(word: &str) -> Vec<&str> {
    // The program's own font does not know Indic scripts: a letter is kept with its marks, and a conjunct may be broken after its first letter.
    let Some(face) = Face::from_slice(notosans::REGULAR_TTF, 0) else {
        return vec![word];
    };
    let shaped = shape(word, &face);
    let mut ends: Vec<usize> =
        shaped.glyph_infos().iter().map(|glyph| glyph.cluster as usize).collect();
    ends.push(word.len());
    // From right to left the last letter is the first glyph.
    ends.sort_unstable();
    ends.dedup();
    ends.windows(2).map(|ends| &word[ends[0]..ends[1]]).collect()
}

#[cfg(test)]
mod tests {
    use resvg::usvg::{Group, Node};

    use super::{
        super::{fonts, runs},
        *,
    };

    /// Where the glyphs of a text are drawn, with their font.
    fn drawn(group: &Group) -> Vec<(ID, f32)> {
        let mut places = Vec::new();
        for node in group.children() {
            match node {
                Node::Group(group) => places.extend(drawn(group)),
                Node::Text(text) => {
                    let glyphs = text.layouted().iter().flat_map(|span| &span.positioned_glyphs);
                    places.extend(glyphs.map(|glyph| (glyph.font, glyph.transform().tx)));
                }
                _ => {}
            }
        }
        places
    }

    #[test]
    fn glyphs_stand_where_the_shaper_puts_them() {
        let (size, from) = (10.0, 50.0);
        // The first is in the program's own font: signs that are joined are one cluster of two glyphs. The others are looked at where the system has a font.
        for word in
            ["(©\u{200d}®)", "हिन्दी नीति", "क्षत्रिय", "தமிழ் கொள்கை", "বাংলা নীতি", "ภาษาไทย", "خلط"]
        {
            if !fonts::undrawable(word).is_empty() {
                continue;
            }
            for (anchor, part) in [("start", 0.0), ("middle", 0.5), ("end", 1.0)] {
                let text = format!(
                    "<text x=\"{from}\" y=\"9\" dy=\"0\" text-anchor=\"{anchor}\" font-family=\"sans-serif\" font-size=\"{size}\">\n{word}\n</text>"
                );
                let svg = format!(
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"99\" height=\"9\">\n{text}\n</svg>"
                );
                let svg = runs::in_runs(&svg, &fonts::ALL).unwrap();
                let places = drawn(fonts::tree_with(&svg, &fonts::ALL).unwrap().root());
                let shaped = |data: &[u8], index| {
                    let face = Face::from_slice(data, index).unwrap();
                    let scale = size / face.units_per_em() as f32;
                    let (mut x, mut places) = (0.0, Vec::new());
                    for glyph in shape(word, &face).glyph_positions() {
                        places.push(scale * (x + glyph.x_offset as f32));
                        x += glyph.x_advance as f32;
                    }
                    (places, scale * x)
                };
                let (expected, width) =
                    fonts::ALL.with_face_data(places[0].0, shaped).expect("a font");
                assert_eq!(places.len(), expected.len(), "{word}");
                for ((_, place), expected) in places.iter().zip(expected) {
                    let expected = from - part * width + expected;
                    assert!((place - expected).abs() < 0.01, "{word}: {place} {expected}");
                }
            }
        }
    }

    /// The shaper's own limit is 256 letters of a syllable; it matters where the system has a font of the script.
    #[test]
    fn a_syllable_without_an_end_is_drawn() {
        for endless in ["क्".repeat(300), format!("क{}", "\u{951}".repeat(600))] {
            assert!(fonts::undrawable(&endless).len() <= 3);
        }
    }

    #[test]
    fn a_word_is_broken_between_letters_with_their_marks() {
        assert_eq!(parts("ab"), ["a", "b"]);
        assert_eq!(parts("नीति"), ["नी", "ति"]);
        assert_eq!(parts("ที่นี่"), ["ที่", "นี่"]);
        assert_eq!(parts("شش").concat(), "شش");
        assert_eq!(parts("🎲"), ["🎲"]);
        assert!(parts("").is_empty());
    }

    #[test]
    fn letters_have_scripts_and_signs_have_none() {
        assert_eq!(script_of('न'), Some(script::DEVANAGARI));
        assert_eq!(script_of('ন'), Some(script::BENGALI));
        assert_eq!([' ', '1', ',', '\u{200d}'].map(script_of), [None; 4]);
    }
}
