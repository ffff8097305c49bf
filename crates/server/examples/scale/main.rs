//! The numbers of docs/why/scale.md: a service for a large part of the internet, simulated and priced.
//!
//! ```text
//! cargo run --release -p reticent-server --example scale -- database_events=8000 egress_gb=0.02
//! ```
//!
//! Every parameter of [`Parameters`] can be set. What is printed is the same in every run; sizes of parts, reports and models are those of the program itself.

mod cost;
mod delay;
mod messages;
mod parameters;
mod placement;
mod tree;

use std::fmt::Write;

use parameters::Parameters;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// All tables as Markdown.
fn tables(parameters: &Parameters) -> Result<String> {
    let mut text = String::new();
    let sizes = messages::Sizes::of_program()?;
    for (title, table) in [
        ("Parameters", parameters.table()),
        ("Loops over databases", placement::table(parameters)),
        ("Sums in trees", tree::table(parameters)?),
        ("Ticks that need every shard", delay::table(parameters)),
        ("Device reports", messages::table(parameters, &sizes)),
        ("Cost a month", cost::table(parameters, &sizes)),
    ] {
        writeln!(text, "### {title}\n\n{}", table.trim_end())?;
        writeln!(text)?;
    }
    Ok(text)
}

/// A number as people read it: with commas, and two digits after the point where it is small and not whole.
fn people(number: f64) -> String {
    if number.abs() < 10.0 && number.fract() != 0.0 {
        return format!("{number:.2}");
    }
    let digits = format!("{:.0}", number.abs());
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn main() -> Result<()> {
    let parameters = Parameters::read(std::env::args().skip(1))?;
    print!("{}", tables(&parameters)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_prints_what_this_prints() {
        let page = include_str!("../../../../docs/why/scale.md");
        let (_, printed) = page.split_once("<!-- printed -->\n").unwrap();
        let (printed, _) = printed.split_once("<!-- end -->").unwrap();
        let tables = tables(&Parameters::default()).unwrap();
        assert!(printed == tables, "docs/why/scale.md is not what is printed:\n{tables}");
    }

    #[test]
    fn parameters_are_set_by_name_and_others_refused() {
        let set = |text: &str| Parameters::read([text.to_string()].into_iter());
        assert_eq!(set("loops=5").unwrap().loops, 5.0);
        for bad in ["loop=5", "loops", "loops=-1", "loops=x", "loops=inf", "shards=0"] {
            assert!(set(bad).is_err(), "{bad}");
        }
    }
}
