//! The frame of a page.

use maud::{DOCTYPE, Markup, PreEscaped, html};

/// The style sheet of all pages.
pub const STYLE: &str = include_str!("style.css");

/// Source of a page's style.
#[derive(Debug, Clone, Copy)]
pub enum Style<'a> {
    /// Inside the page, so that it is one file.
    Inline,
    /// From this address: a content policy without inline styles allows it.
    Linked(&'a str),
}

/// A whole page of this title and body.
pub fn document(title: &str, style: Style<'_>, head: Markup, body: Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="robots" content="noindex";
                title { (title) }
                @match style {
                    // Constant text of this crate, which holds nothing that ends a style element.
                    Style::Inline => style { (PreEscaped(STYLE)) },
                    Style::Linked(address) => link rel="stylesheet" href=(address);,
                }
                (head)
            }
            body { (body) }
        }
    };
    page.into_string()
}
