//! Pages of certificates of loops, each as one file.

use maud::{Markup, html};

use super::{Style, device_sheet, document, loop_sheet};
use crate::{
    Result,
    certificate::{Certificate, Together},
    config::{DevicePlan, LoopPlan},
    time::Time,
};

/// The page of one central loop.
pub fn certificate_page(plan: &LoopPlan, certificate: &Certificate, together: &Together) -> String {
    of_one(&plan.name, loop_sheet(plan, certificate, together))
}

/// The page of one loop whose devices add the noise.
pub fn device_certificate_page(
    plan: &DevicePlan,
    certificate: &Certificate,
    together: &Together,
) -> String {
    of_one(&plan.name, device_sheet(plan, certificate, together))
}

fn of_one(name: &str, sheet: Markup) -> String {
    document(&format!("Privacy certificate: {name}"), Style::Inline, html! {}, sheet)
}

/// The page of all loops of a file that is not served: a sheet for each.
pub fn file_page(plans: &[LoopPlan], devices: &[DevicePlan], made: Time) -> Result<String> {
    let together = Together::of_file(plans, devices)?;
    let central = plans
        .iter()
        .map(|plan| Ok(loop_sheet(plan, &Certificate::of_plan(plan, made)?, &together)));
    let device = devices
        .iter()
        .map(|plan| Ok(device_sheet(plan, &Certificate::of_devices(plan, None, made)?, &together)));
    let sheets: Vec<Markup> = central.chain(device).collect::<Result<_>>()?;
    let body = html! { @for sheet in &sheets { (sheet) } };
    Ok(document("Privacy certificates", Style::Inline, html! {}, body))
}
