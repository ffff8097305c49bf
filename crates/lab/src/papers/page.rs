//! A page for each paper: every claim of it that was measured, what became of it, our number, and the command. Claims of ours are left out.

use std::{collections::BTreeMap, fmt::Write};

use super::{
    experiments::{EXPERIMENTS, Extent, Reproduction},
    verdict::{Claim, OURS},
};

const TITLES: [(&str, &str); 6] = [
    ("paper0", "Improved rate for Locally Differentially Private Linear Bandits"),
    ("paper1", "Differentially Private Contextual Linear Bandits (Shariff and Sheffet 2018)"),
    (
        "paper2",
        "User-Specified Local Differential Privacy in Unconstrained Adaptive Online Learning (van der Hoeven 2019)",
    ),
    ("paper3", "The Safety-Privacy Tradeoff in Linear Bandits (Zibaie et al.)"),
    ("paper4", "Projection-Free Bandit Optimization with Privacy Guarantees (Ene, Nguyen, Vladu)"),
    ("defaults", "The defaults of Reticent"),
];

/// Markdown for each paper of which something was run, by its short name.
pub fn pages(
    extent: Extent,
    seed: Option<u64>,
    done: &[Reproduction],
) -> BTreeMap<&'static str, String> {
    let mut pages = BTreeMap::new();
    let mut switch = match extent {
        Extent::Quick => "--quick".to_string(),
        Extent::Full => "--full".to_string(),
    };
    if let Some(seed) = seed {
        let _ = write!(switch, " --seed {seed}");
    }
    for (paper, title) in TITLES {
        let of_paper: Vec<&Reproduction> =
            done.iter().filter(|reproduction| reproduction.id.starts_with(paper)).collect();
        if of_paper.is_empty() {
            continue;
        }
        let mut page = format!("# {title}\n\nWritten by `reticent reproduce {paper} {switch}`");
        let _ = match extent {
            Extent::Quick => writeln!(
                page,
                ": few trials and short horizons. A verdict names its trials, and may differ from that of `--full`.\n"
            ),
            Extent::Full => writeln!(page, ", at its full scale.\n"),
        };
        for reproduction in of_paper {
            let is_paper = |claim: &&Claim| !claim.claim.starts_with(OURS);
            let claims: Vec<&Claim> = reproduction.claims.iter().filter(is_paper).collect();
            if claims.is_empty() {
                continue;
            }
            let known = EXPERIMENTS.iter().find(|experiment| experiment.id == reproduction.id);
            let what = known.map_or("", |experiment| experiment.title);
            let _ = writeln!(
                page,
                "## {}\n\n{what}, {:.0} s:\n",
                reproduction.id, reproduction.seconds
            );
            let _ = writeln!(page, "    reticent reproduce {} {switch}\n", reproduction.id);
            page.push_str("| claim | verdict | measured | expected |\n| --- | --- | --- | --- |\n");
            for claim in claims {
                let row = [
                    claim.claim.as_str(),
                    &claim.judgement.text(),
                    claim.measured.as_str(),
                    claim.expected.as_str(),
                ];
                // A bar would end the cell.
                let cells = row.map(|cell| cell.replace('|', "\\|").replace('\n', " "));
                let _ = writeln!(page, "| {} |", cells.join(" | "));
            }
            page.push('\n');
        }
        pages.insert(paper, page);
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Judgement, PaperExperiment},
        *,
    };

    #[test]
    fn every_experiment_has_a_page_and_a_bar_does_not_break_it() {
        let one = |experiment: &PaperExperiment| Reproduction {
            id: experiment.id,
            claims: vec![
                Claim {
                    claim: "a | b".into(),
                    judgement: Judgement::stated(false, 8),
                    measured: "1".into(),
                    expected: "2".into(),
                },
                Claim {
                    claim: format!("{OURS}c"),
                    judgement: Judgement::stated(true, 8),
                    measured: "3".into(),
                    expected: "4".into(),
                },
            ],
            seconds: 1.0,
            folder: "nowhere".into(),
        };
        let done: Vec<Reproduction> = EXPERIMENTS.iter().map(one).collect();
        let pages = pages(Extent::Full, None, &done);
        assert_eq!(pages.len(), TITLES.len());
        for experiment in EXPERIMENTS {
            let paper = experiment.id.split('/').next().unwrap();
            let page = &pages[paper];
            assert!(page.contains(&format!("reticent reproduce {} --full", experiment.id)));
            assert!(page.contains("| a \\| b | not reproduced, 8 trials | 1 | 2 |"), "{page}");
            assert!(!page.contains(OURS), "claims of the papers only");
        }
    }

    /// Pages of the repository are of full runs, of claims of the papers.
    #[test]
    fn the_pages_that_are_kept_are_of_full_runs() {
        let pages = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/papers");
        for (paper, _) in TITLES.iter().filter(|(paper, _)| paper.starts_with("paper")) {
            let page = std::fs::read_to_string(pages.join(format!("{paper}.md"))).unwrap();
            let begins = "    reticent reproduce ";
            let mut commands = page.lines().filter(|line| line.starts_with(begins)).peekable();
            assert!(commands.peek().is_some(), "{paper} has no command");
            assert!(commands.all(|line| line.contains(" --full")), "{paper} has a short run");
            assert!(!page.contains(OURS), "{paper} has a claim that is not the paper's");
        }
    }
}
