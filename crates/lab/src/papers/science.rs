//! `science/...`: learners of the recent literature, and systems that others run, beside our defaults.
//!
//! | file | what it is |
//! | --- | --- |
//! | `firefox` | `science/firefox`: interests by unary encoding, as Firefox's New Tab sends them, beside our randomisers |

mod firefox;

pub use firefox::firefox;
