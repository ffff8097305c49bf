//! Studies: learners of the recent literature, and systems in production, beside our defaults.
//!
//! ```text
//! cargo run --release -p reticent-studies -- whitening --quick
//! ```
//!
//! Every learner is tuned over a grid of the same size on other seeds, and every table has means, medians and 95 % quantiles over trials. A learner that
//! loses is reported as such and stays here. Certificates of learners of this crate are stated, not computed by the laboratory; each is the accountant's
//! for the noise that its file proves.
//!
//! | file | holds |
//! | --- | --- |
//! | `fixed_arms` | phased elimination and episodes beside the default, where arms are fixed and public |
//! | `fixed_places` | where those arms are |
//! | `episodes`, `episode_noise` | a learner of fixed arms that puts each person's reward into exactly one noisy sum; that noise with its proof |
//! | `design` | G-optimal designs over the arms that are left |
//! | `clicks` | linear and logistic learners of clicks |
//! | `click_environment` | people who click or do not |
//! | `linearised` | working responses around the last released theta |
//! | `published_glm` | the generalised linear bandit of Sarmasarkar 2026 |
//! | `firefox` | interests by unary encoding, as Firefox's New Tab sends them, beside our randomisers |
//! | `whitening` | features that are whitened before they are randomised, or divided by sizes |
//! | `contest` | tuning on other seeds, cells of tables |

mod click_environment;
mod clicks;
mod contest;
mod design;
mod episode_noise;
mod episodes;
mod firefox;
mod fixed_arms;
mod fixed_places;
mod linearised;
mod published_glm;
mod whitening;

use std::{path::PathBuf, process::ExitCode};

use reticent::error::message;
use reticent_lab::papers::{Extent, PaperExperiment};

/// All studies.
const STUDIES: [PaperExperiment; 4] = [
    PaperExperiment {
        id: "fixed_arms",
        title: "phased elimination and other learners in episodes beside the default, on fixed arms at equal certificates",
        seconds: (106, 1560),
        run: fixed_arms::fixed_arms,
    },
    PaperExperiment {
        id: "clicks",
        title: "clicks at rates of .5, .05 and .005: linear and logistic learners at equal certificates",
        seconds: (108, 240),
        run: clicks::clicks,
    },
    PaperExperiment {
        id: "firefox",
        title: "interests by unary encoding, as Firefox's New Tab sends them, beside our randomisers at equal, half and a tenth of epsilon",
        seconds: (90, 240),
        run: firefox::firefox,
    },
    PaperExperiment {
        id: "whitening",
        title: "features whitened, or divided by public or surveyed sizes, before they are randomised, beside the default",
        seconds: (43, 1860),
        run: whitening::whitening_of_features,
    },
];

/// The command line: one study, its extent, and the folder of its results.
#[derive(Debug, PartialEq)]
struct Arguments {
    study: Option<String>,
    extent: Extent,
    folder: PathBuf,
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut arguments =
        Arguments { study: None, extent: Extent::Quick, folder: "results/studies".into() };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--quick" => arguments.extent = Extent::Quick,
            "--full" => arguments.extent = Extent::Full,
            "--out" => {
                let missing = || message("--out", "missing", "expected a folder; give --out PATH");
                arguments.folder = words.next().ok_or_else(missing)?.into();
            }
            name if arguments.study.is_none() && STUDIES.iter().any(|study| study.id == name) => {
                arguments.study = Some(word);
            }
            _ => {
                let known = STUDIES.map(|study| study.id).join(", ");
                let remedy = format!(
                    "expected one of {known}, and --quick, --full or --out PATH; give one study"
                );
                return Err(message("arguments", word, remedy));
            }
        }
    }
    Ok(arguments)
}

fn main() -> ExitCode {
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    let Some(study) = STUDIES.iter().find(|study| Some(study.id) == arguments.study.as_deref())
    else {
        for study in &STUDIES {
            println!("{:10}  {} ({})", study.id, study.title, study.time());
        }
        return ExitCode::SUCCESS;
    };
    let extent = (arguments.extent, None);
    match study.reproduce(extent, &arguments.folder, &|line| eprintln!("{line}")) {
        Ok(done) => {
            println!("{}: {}\n{}", study.id, study.title, done.text());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &str) -> Result<Arguments, String> {
        parse(words.split_whitespace().map(String::from))
    }

    #[test]
    fn one_study_with_its_extent_and_folder_is_read() {
        let found = parsed("whitening --full --out here").unwrap();
        let study = Some("whitening".to_string());
        assert_eq!(found, Arguments { study, extent: Extent::Full, folder: "here".into() });
        assert_eq!(parsed("").unwrap().study, None);
    }

    #[test]
    fn unknown_words_are_refused_with_the_studies_there_are() {
        for words in ["bleaching", "whitening clicks", "--fast", "clicks --out"] {
            let message = parsed(words).unwrap_err();
            assert!(message.contains("; expected ") && message.contains("; give "), "{message}");
        }
        assert!(
            parsed("bleaching").unwrap_err().contains("got bleaching; expected one of fixed_arms")
        );
    }

    #[test]
    fn every_study_is_named_by_the_program_of_the_papers() {
        assert_eq!(STUDIES.map(|study| study.id), reticent_lab::papers::STUDIES);
    }
}
