//! Pages of certificates of loops, each as one file.

use maud::{Markup, html};

use super::{Style, document, loop_sheet};
use crate::{
    Result,
    certificate::{Certificate, Together},
    config::Plan,
    time::Time,
};

/// The page of one loop.
pub fn certificate_page(plan: &Plan, certificate: &Certificate, together: &Together) -> String {
    let sheet = loop_sheet(plan, certificate, together);
    let title = format!("Privacy certificate: {}", plan.name());
    document(&title, Style::Inline, html! {}, sheet)
}

/// The page of all loops of a file that is not served: a sheet for each.
pub fn file_page(plans: &[Plan], made: Time) -> Result<String> {
    let together = Together::of_plans(plans)?;
    let sheet = |plan: &Plan| Ok(loop_sheet(plan, &Certificate::of_plan(plan, made)?, &together));
    let sheets: Vec<Markup> = plans.iter().map(sheet).collect::<Result<_>>()?;
    let body = html! { @for sheet in &sheets { (sheet) } };
    Ok(document("Privacy certificates", Style::Inline, html! {}, body))
}
