//! Guarantees as a page for people who do not read formulas: HTML without scripts and without outside resources, which prints on A4.
//!
//! | item | use |
//! | --- | --- |
//! | [`document`], [`STYLE`] | every page: those here and the service's |
//! | [`promise`], [`promise_by_window`], [`best_guess`] | epsilon and delta with their meaning in plain words |
//! | [`certificate_page`], [`file_page`] | loops: a sheet for each |
//! | [`guarantees_page`] | experiments (`reticent certify --page`) and Python (`Guarantee.page()`) |
//!
//! It depends on the core and on a macro for HTML, so that neither the service nor the Python package needs the other's dependencies for it. All
//! text is escaped by the macro.

mod central;
mod document;
mod file;
mod loop_sheet;
mod promise;
mod reports;
mod sheet;

pub use crate::certificate::best_guess;
pub use document::{STYLE, Style, document};
pub use file::{certificate_page, file_page};
pub use loop_sheet::{conditions, loop_sheet, together_words};
pub use promise::{epsilon_text, grouped, meaning, percent, promise, promise_by_window};
pub use sheet::{Entry, guarantees_page};
