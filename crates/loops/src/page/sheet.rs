//! The page of guarantees without a service: of an experiment's algorithms, or of one learner.

use maud::{Markup, html};
use reticent::{
    Result,
    privacy::{Guarantee, TrustModel},
};

use super::{Style, best_guess, document, meaning, promise};

/// One guarantee with its name.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Name of its owner.
    pub name: &'a str,
    /// The guarantee, if one is stated.
    pub guarantee: Option<&'a Guarantee>,
    /// Remarks for the reader.
    pub remarks: &'a [String],
}

/// A page with one sheet a guarantee. `origin` says what it was made from and by which version.
///
/// ```
/// use reticent::privacy::{Event, Guarantee, TrustModel};
/// use reticent_loops::page::{Entry, guarantees_page};
/// let event = Event::Gaussian { sensitivity: 1.0, sigma: 3.730631634816464 };
/// let guarantee = Guarantee::of(&event, TrustModel::Joint, 1e-5)?;
/// let entry = Entry { name: "one <release>", guarantee: Some(&guarantee), remarks: &[] };
/// let page = guarantees_page("Certificate", "an example", &[entry])?;
/// assert!(page.contains("one &lt;release&gt;") && page.contains("55.4 %"));
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn guarantees_page(title: &str, origin: &str, entries: &[Entry<'_>]) -> Result<String> {
    let sheets: Vec<Markup> =
        entries.iter().map(|entry| sheet(entry, origin)).collect::<Result<_>>()?;
    Ok(document(title, Style::Inline, html! {}, html! { @for sheet in &sheets { (sheet) } }))
}

fn sheet(entry: &Entry<'_>, origin: &str) -> Result<Markup> {
    let body = match entry.guarantee {
        Some(guarantee) => priced(guarantee)?,
        None => html! {
            p.notice.bad { strong { "No guarantee is stated. " } "Anyone who sees the results may learn everything about every person." }
        },
    };
    Ok(html! {
        article.sheet {
            header {
                h1 { "Privacy certificate: " (entry.name) }
                p.quiet { (origin) }
            }
            (body)
            @for remark in entry.remarks { p { strong { "Note. " } (remark) } }
        }
    })
}

fn priced(guarantee: &Guarantee) -> Result<Markup> {
    let guess = best_guess(guarantee)?;
    Ok(html! {
        h2 { "Guarantee" }
        (promise(guarantee, guess))
        p { (guarantee.to_string()) }
        @for warning in guarantee.warnings() { p.notice { strong { "Warning. " } (warning) } }
        h2 { "Meaning" }
        (meaning(guarantee, guess, "the data of one unit", guarantee.model() == TrustModel::Joint))
        dl.facts {
            dt { "unit" } dd { (guarantee.unit()) }
            dt { "trust model" } dd { (guarantee.model()) }
            @if let Some(claim) = guarantee.claimed() { dt { "claimed elsewhere" } dd { (claim) } }
        }
        h2 { "Conditions" }
        ul.checklist {
            @for condition in guarantee.conditions() {
                li { span.mark.watch { "condition" } span { (condition) } }
            }
        }
        p.quiet { "The program does not enforce these conditions: its operator sees to them. Files of loops have pages that say what the service enforces." }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use reticent::privacy::Event;

    proptest! {
        #[test]
        fn names_and_remarks_are_escaped(name in ".{0,40}", remark in "[<>&\"'a-z/]{0,40}") {
            let event = Event::Gaussian { sensitivity: 1.0, sigma: 4.0 };
            let guarantee = Guarantee::of(&event, TrustModel::Joint, 1e-5).unwrap().with_condition(remark.clone());
            let marked = format!("<script>{name}");
            let remarks = [remark];
            let entry = Entry { name: &marked, guarantee: Some(&guarantee), remarks: &remarks };
            let page = guarantees_page(&marked, &marked, &[entry]).unwrap();
            prop_assert!(!page.contains("<script"));
            prop_assert_eq!(page.matches("<article").count(), 1);
            prop_assert_eq!(page.matches("</style>").count(), 1);
        }
    }

    #[test]
    fn what_has_no_guarantee_and_what_is_only_stated_is_said() {
        let event = Event::Gaussian { sensitivity: 1.0, sigma: 4.0 };
        let stated = Guarantee::of(&event, TrustModel::Joint, 1e-5).unwrap().stated();
        let entries = [
            Entry { name: "open", guarantee: None, remarks: &[] },
            Entry { name: "mine", guarantee: Some(&stated), remarks: &[] },
        ];
        let page = guarantees_page("all", "a test", &entries).unwrap();
        assert!(page.contains("No guarantee is stated."));
        assert!(page.contains("Stated, not checked."));
    }
}
