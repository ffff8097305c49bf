//! The fonts of pictures: Noto Sans, which is part of the program, and the system's fonts for letters that it lacks.
//!
//! An SVG names the generic family, so that its viewer chooses a font. PNG and PDF hold what is drawn here.

use std::sync::{Arc, LazyLock, Once};

use plotters::{
    prelude::*,
    style::{FontStyle, register_font},
};
use resvg::usvg::{
    self, FontFamily, FontResolver, Group, Node, Options, Tree,
    fontdb::{Database, FaceInfo, Family, ID, Query, Source, Stretch, Style, Weight},
};

use super::{
    clusters::parts,
    runs::{in_runs, joins},
};

/// The generic family of all text.
pub(super) const FAMILY: &str = "sans-serif";

/// The family that stands for it here.
const OWN_FAMILY: &str = "Noto Sans";

/// How the name of a family begins that is one font.
const FACE: &str = "face-";

static OWN: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = Database::new();
    fonts.load_font_source(Source::Binary(Arc::new(notosans::REGULAR_TTF)));
    Arc::new(named(fonts))
});

/// With the system's fonts, which take a while to read.
pub(super) static ALL: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = Database::clone(&OWN);
    fonts.load_system_fonts();
    Arc::new(named(fonts))
});

fn named(mut fonts: Database) -> Database {
    fonts.set_sans_serif_family(OWN_FAMILY);
    fonts.set_serif_family(OWN_FAMILY);
    fonts
}

/// An SVG with its letters as glyphs, of the system's fonts where they are needed.
pub(super) fn tree(svg: &str) -> Result<Tree, usvg::Error> {
    let own = tree_with(svg, &OWN)?;
    match missing_in(own.root()).is_empty() {
        true => Ok(own),
        false => tree_with(&in_runs(svg, &ALL)?, &ALL),
    }
}

/// The letters that no font of this machine can draw, each once: a PNG or a PDF has boxes in their place.
pub fn undrawable(text: &str) -> Vec<char> {
    let mut svg =
        String::from("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\" height=\"9\">");
    for word in text.split_whitespace() {
        let word = word.replace('&', "&amp;").replace('<', "&lt;");
        let start = "<text x=\"0\" y=\"9\" text-anchor=\"start\" font-size=\"9\"";
        svg.push_str(&format!("\n{start} font-family=\"{FAMILY}\">\n{word}\n</text>\n"));
    }
    svg.push_str("</svg>");
    tree(&svg).map_or(Vec::new(), |tree| missing_in(tree.root()))
}

/// An SVG whose texts have one font each.
pub(super) fn tree_with(svg: &str, fonts: &Arc<Database>) -> Result<Tree, usvg::Error> {
    let by_name = FontResolver::default_font_selector();
    let font_resolver = FontResolver {
        select_font: Box::new(move |font, fonts| match font.families() {
            [FontFamily::Named(name), ..] if name.starts_with(FACE) => {
                fonts.faces().map(|face| face.id).find(|id| family_of(*id) == *name)
            }
            _ => by_name(font, fonts),
        }),
        // Text of several fonts is not shaped rightly by the library: see `runs`.
        select_fallback: Box::new(|_, _, _| None),
    };
    let fontdb = Arc::clone(fonts);
    Tree::from_str(svg, &Options { font_resolver, fontdb, ..Options::default() })
}

/// A family that is this font alone: several fonts may have one name, and not all of them the same letters.
pub(super) fn family_of(font: ID) -> String {
    format!("{FACE}{font}")
}

/// The font of text that names the generic family.
pub(super) fn own_font(fonts: &Database) -> Option<ID> {
    fonts.query(&Query { families: &[Family::SansSerif], ..Query::default() })
}

/// The font that comes nearest to Noto Sans, among those that have the letter; nothing for a letter of Noto Sans itself, or of no font.
pub(super) fn other_font(letter: char, fonts: &Database) -> Option<ID> {
    let mut faces: Vec<&FaceInfo> = fonts.faces().collect();
    let is_own = |face: &FaceInfo| OWN.face(face.id).is_some();
    faces.sort_by_key(|face| {
        let is_sans = face.families.iter().any(|(name, _)| name.contains("Sans"));
        let weight = face.weight.0.abs_diff(Weight::NORMAL.0);
        let plain = face.style == Style::Normal && face.stretch == Stretch::Normal;
        (!is_own(face), !plain, weight, face.monospaced, !is_sans)
    });
    let face = faces.into_iter().find(|face| draws(fonts, face.id, letter))?;
    (!is_own(face)).then_some(face.id)
}

/// Whether a font has an outline of the letter. A colour font may have a bitmap alone, which is not drawn.
pub(super) fn draws(fonts: &Database, font: ID, letter: char) -> bool {
    let bounds = fonts.with_face_data(font, |data, index| {
        let face = ttf_parser::Face::parse(data, index).ok()?;
        face.glyph_bounding_box(face.glyph_index(letter)?)
    });
    bounds.flatten().is_some()
}

fn missing_in(group: &Group) -> Vec<char> {
    let mut missing = Vec::new();
    for node in group.children() {
        match node {
            Node::Group(group) => missing.extend(missing_in(group)),
            Node::Text(text) => {
                let glyphs = text.layouted().iter().flat_map(|span| &span.positioned_glyphs);
                // Glyph 0 is the box.
                let boxes = glyphs.filter(|glyph| glyph.id.0 == 0);
                let letters = boxes.flat_map(|glyph| glyph.text.chars());
                missing.extend(letters.filter(|letter| !letter.is_whitespace() && !joins(*letter)));
            }
            _ => {}
        }
    }
    missing.sort_unstable();
    missing.dedup();
    missing
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
