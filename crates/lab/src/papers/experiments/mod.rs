//! The papers' experiments: each writes its runs into a folder and returns its claims.
//!
//! One file per paper, and `defaults` for our own. To add an experiment, write a function and name it in [`EXPERIMENTS`].

mod defaults;
mod paper0;
mod paper1;
mod paper2;
mod paper3;
mod paper4;

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use serde::Serialize;

use super::verdict::{Claim, Judgement, OURS, Verdict};
use crate::{Result, report::html as report};

/// The share of a paper's scale that is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Minutes for all experiments together.
    Quick,
    /// The paper's own horizon and number of trials.
    Full,
}

/// The extent of one run, its folder, and the listener to its progress.
pub struct Stage<'a> {
    /// The share of the paper's scale that is run.
    pub extent: Extent,
    /// Seed in place of the experiment's own.
    pub seed: Option<u64>,
    /// Its own folder.
    pub folder: &'a Path,
    /// Hears a line at a time.
    pub progress: &'a (dyn Fn(&str) + Sync),
}

impl Stage<'_> {
    /// Seed of the trials: the given one, or the experiment's own.
    pub fn seed(&self, own: u64) -> u64 {
        self.seed.unwrap_or(own)
    }
}

/// One experiment of a paper.
pub struct PaperExperiment {
    /// paper/figure, as the command line takes it.
    pub id: &'static str,
    /// Its subject.
    pub title: &'static str,
    /// Seconds on two cores, about: a quick run, and a full one.
    pub seconds: (u32, u32),
    /// Runs it.
    pub run: fn(&Stage) -> Result<Vec<Claim>>,
}

/// All experiments.
pub const EXPERIMENTS: &[PaperExperiment] = &[
    PaperExperiment {
        id: "paper0/figure1",
        title: "regret under local, shuffle and joint privacy with the published constants",
        seconds: (30, 30),
        run: paper0::figure1,
    },
    PaperExperiment {
        id: "paper0/conjecture",
        title: "Figure 1(a) and (b) with noise on the reward alone, which protects no features",
        seconds: (10, 60),
        run: paper0::conjecture,
    },
    PaperExperiment {
        id: "paper0/equal",
        title: "the algorithms of Figure 1 and our defaults at equal certificates (ours)",
        seconds: (100, 1200),
        run: paper0::equal,
    },
    PaperExperiment {
        id: "paper0/table1",
        title: "the least eigenvalue of the arms played, over trials and given the history",
        seconds: (2, 60),
        run: paper0::table1,
    },
    PaperExperiment {
        id: "paper1/experiment1",
        title: "regret against dimension, not private",
        seconds: (12, 300),
        run: paper1::experiment1,
    },
    PaperExperiment {
        id: "paper1/figure4",
        title: "regret of the private variants, with and without a gap",
        seconds: (6, 220),
        run: paper1::figure4,
    },
    PaperExperiment {
        id: "paper1/figure5",
        title: "regret against the regulariser's shift",
        seconds: (20, 1000),
        run: paper1::figure5,
    },
    PaperExperiment {
        id: "paper2/scenario1",
        title: "many people without privacy, few with: regret with none, ten and all of them private",
        seconds: (14, 45),
        run: paper2::scenario1,
    },
    PaperExperiment {
        id: "paper2/scenario2",
        title: "sparse gradients and noise for every attribute",
        seconds: (15, 45),
        run: paper2::scenario2,
    },
    PaperExperiment {
        id: "paper2/bounds",
        title: "the theorems, printed and corrected, and the numeric bound against simulated regret",
        seconds: (2, 10),
        run: paper2::bounds,
    },
    PaperExperiment {
        id: "paper3/figure2",
        title: "six privacy vectors where the best point is the sharpest corner",
        seconds: (20, 30),
        run: paper3::figure2,
    },
    PaperExperiment {
        id: "paper3/figure3",
        title: "six privacy vectors, averaged over three setups (also Figure 1)",
        seconds: (60, 100),
        run: paper3::figure3,
    },
    PaperExperiment {
        id: "paper3/theorem3",
        title: "the unimprovable privacy vector on random instances",
        seconds: (1, 2),
        run: paper3::theorem3,
    },
    PaperExperiment {
        id: "paper3/certificate",
        title: "our coordinators beside the paper's at equal certificate (ours)",
        seconds: (24, 180),
        run: paper3::certificate,
    },
    PaperExperiment {
        id: "paper4/regret",
        title: "regret with the paper's noise, with exact noise, and on every set",
        seconds: (150, 600),
        run: paper4::regret,
    },
    PaperExperiment {
        id: "paper4/rate",
        title: "Theorem 1.1 against the horizon: the paper's Laplace noise beside staying at the centre",
        seconds: (8, 60),
        run: paper4::rate,
    },
    PaperExperiment {
        id: "paper4/horizon",
        title: "an unknown horizon by doubling: what it costs in privacy and in regret",
        seconds: (22, 90),
        run: paper4::horizon,
    },
    PaperExperiment {
        id: "paper4/choices",
        title: "the multiples behind our defaults, beside half and double of each",
        seconds: (79, 300),
        run: paper4::choices,
    },
    PaperExperiment {
        id: "defaults/dominance",
        title: "our defaults: stronger trust never loses, more budget never hurts, no trial is stuck",
        seconds: (150, 1500),
        run: defaults::dominance,
    },
    PaperExperiment {
        id: "defaults/rules",
        title: "every rule under every trust model in every environment at equal certificates",
        seconds: (300, 1200),
        run: defaults::rules,
    },
    PaperExperiment {
        id: "defaults/catalogue",
        title: "rules for tables of features on simulated products: two_level beside thompson",
        seconds: (360, 1800),
        run: defaults::catalogue,
    },
    PaperExperiment {
        id: "defaults/outlook",
        title: "the number of people at which a plan becomes useful, beside learning curves on two data sets",
        seconds: (30, 240),
        run: defaults::outlook,
    },
    PaperExperiment {
        id: "defaults/parts",
        title: "the number of events at which each part of a file of features is learnt, beside learning curves",
        seconds: (60, 400),
        run: defaults::parts,
    },
];

impl PaperExperiment {
    /// The times in words, "2 min quick, 30 min full".
    pub fn time(&self) -> String {
        let words = |seconds: u32| match seconds {
            0..=89 => format!("{seconds} s"),
            _ => format!("{} min", (seconds + 30) / 60),
        };
        format!("{} quick, {} full", words(self.seconds.0), words(self.seconds.1))
    }
}

/// An experiment that was run.
#[derive(Debug, Serialize)]
pub struct Reproduction {
    /// The experiment's id.
    pub id: &'static str,
    /// Its claims.
    pub claims: Vec<Claim>,
    /// Its time in seconds.
    pub seconds: f64,
    /// The folder of its files.
    pub folder: PathBuf,
}

/// The studies, which have a program of their own: `cargo run --release -p reticent-studies -- whitening`.
pub const STUDIES: [&str; 4] = ["fixed_arms", "clicks", "firefox", "whitening"];

/// The experiments whose id is `wanted` or begins with `wanted/`; all of them without.
pub fn matching(wanted: Option<&str>) -> Result<Vec<&'static PaperExperiment>> {
    let fits = |experiment: &&PaperExperiment| {
        wanted.is_none_or(|wanted| {
            experiment.id == wanted
                || experiment.id.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('/'))
        })
    };
    // Ids of version 0.2.
    if let Some(study) = wanted.and_then(|wanted| wanted.strip_prefix("science")) {
        let study = STUDIES.into_iter().find(|known| study.strip_prefix('/') == Some(known));
        let remedy = format!(
            "studies have a program of their own: run `cargo run --release -p reticent-studies -- {} --quick` in the repository",
            study.unwrap_or("NAME")
        );
        let wanted = wanted.unwrap_or_default();
        return Err(reticent::Error::invalid("experiment", wanted, remedy).into());
    }
    let found: Vec<_> = EXPERIMENTS.iter().filter(fits).collect();
    if found.is_empty() {
        let known: Vec<&str> = EXPERIMENTS.iter().map(|experiment| experiment.id).collect();
        let remedy = format!("expected a paper or one of: {}", known.join(", "));
        let wanted = wanted.unwrap_or_default();
        return Err(reticent::Error::invalid("experiment", wanted, remedy).into());
    }
    Ok(found)
}

impl Reproduction {
    /// The claims with their verdicts, the time and the folder, as text.
    pub fn text(&self) -> String {
        let claim = |Claim { claim, judgement, measured, expected }: &Claim| {
            format!(
                "  [{}] {claim}\n      measured {measured}\n      expected {expected}\n",
                judgement.text()
            )
        };
        let claims: String = self.claims.iter().map(claim).collect();
        format!("{claims}  {:.1} s, files in {}\n", self.seconds, self.folder.display())
    }
}

impl PaperExperiment {
    /// Runs the experiment into `folder/id` and writes its claims there.
    pub fn reproduce(
        &self,
        (extent, seed): (Extent, Option<u64>),
        folder: &Path,
        progress: &(dyn Fn(&str) + Sync),
    ) -> Result<Reproduction> {
        let folder = folder.join(self.id);
        let start = Instant::now();
        let claims = (self.run)(&Stage { extent, seed, folder: &folder, progress })?;
        let seconds = start.elapsed().as_secs_f64();
        let reproduction = Reproduction { id: self.id, claims, seconds, folder };
        let json = serde_json::to_string_pretty(&reproduction).expect("claims are plain data");
        report::write(&reproduction.folder, "claims.json", &json)?;
        Ok(reproduction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_is_answered_with_its_program() {
        let refusal = |wanted: &str| matching(Some(wanted)).err().unwrap().to_string();
        let one = refusal("science/whitening");
        assert!(
            one.contains("cargo run --release -p reticent-studies -- whitening --quick"),
            "{one}"
        );
        assert!(refusal("science").contains("reticent-studies -- NAME"));
        assert!(refusal("nonsense").contains("paper1/figure4"));
    }
}
