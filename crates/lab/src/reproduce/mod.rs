//! `reticent reproduce`: the papers' experiments, with a verdict for every claim that can be measured.
//!
//! One file per paper, `defaults` for our own, and `science` for what others publish and run. Each experiment writes its runs into a folder and returns its claims; to add one, write a function
//! and name it in [`EXPERIMENTS`].

mod defaults;
mod page;
mod paper0;
mod paper1;
mod paper2;
mod paper3;
mod paper4;
mod science;
mod verdict;

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use serde::Serialize;

use crate::{Result, report::html as report};

pub use page::pages;
pub use verdict::{Judgement, Verdict};

/// How much of a paper's scale is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Minutes for all experiments together.
    Quick,
    /// The paper's own horizon and number of trials.
    Full,
}

/// A claim of a paper beside what was measured.
#[derive(Debug, Clone, Serialize)]
pub struct Claim {
    /// In the paper's sense, in our words.
    pub claim: String,
    /// The verdict, and the trials that it rests on.
    #[serde(flatten)]
    pub judgement: Judgement,
    /// What we found.
    pub measured: String,
    /// What the paper or its restoration leads one to expect.
    pub expected: String,
}

/// The first word of a claim of ours, which stands beside those of the papers in the output of the program, and not on their pages.
pub(crate) const OURS: &str = "ours: ";

/// Where an experiment writes, how large it is, and whom it tells how far it is.
pub struct Stage<'a> {
    /// How much of the paper's scale is run.
    pub extent: Extent,
    /// Its own folder.
    pub folder: &'a Path,
    /// Hears a line at a time.
    pub progress: &'a (dyn Fn(&str) + Sync),
}

/// One experiment of a paper.
pub struct PaperExperiment {
    /// paper/figure, as the command line takes it.
    pub id: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// About how long it takes on two cores, in seconds: a quick run, and a full one.
    pub seconds: (u32, u32),
    run: fn(&Stage) -> Result<Vec<Claim>>,
}

/// All experiments we know.
pub const EXPERIMENTS: &[PaperExperiment] = &[
    PaperExperiment {
        id: "paper0/figure1",
        title: "regret under local, shuffle and joint privacy with the published constants",
        seconds: (30, 200),
        run: paper0::figure1,
    },
    PaperExperiment {
        id: "paper0/conjecture",
        title: "Figure 1(a) and (b) with noise on the reward alone",
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
        seconds: (20, 560),
        run: paper1::figure5,
    },
    PaperExperiment {
        id: "paper2/scenario1",
        title: "many people without privacy, few with: regret with nobody, ten and everybody private",
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
        seconds: (20, 120),
        run: paper3::figure2,
    },
    PaperExperiment {
        id: "paper3/figure3",
        title: "six privacy vectors, averaged over three setups (also Figure 1)",
        seconds: (60, 420),
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
        id: "defaults/outlook",
        title: "the number of people at which a plan becomes useful, beside learning curves on two data sets",
        seconds: (30, 240),
        run: defaults::outlook,
    },
    PaperExperiment {
        id: "science/fixed_arms",
        title: "phased elimination and other learners in episodes beside the default, on fixed arms at equal certificates",
        seconds: (106, 1560),
        run: science::fixed_arms,
    },
    PaperExperiment {
        id: "science/clicks",
        title: "clicks at rates of .5, .05 and .005: linear and logistic learners at equal certificates",
        seconds: (108, 240),
        run: science::clicks,
    },
    PaperExperiment {
        id: "science/firefox",
        title: "interests by unary encoding, as Firefox's New Tab sends them, beside our randomisers at equal, half and a tenth of epsilon",
        seconds: (90, 240),
        run: science::firefox,
    },
    PaperExperiment {
        id: "science/whitening",
        title: "features whitened, or divided by public or surveyed sizes, before they are randomised, beside the default",
        seconds: (43, 1860),
        run: science::whitening_of_features,
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
    /// Which.
    pub id: &'static str,
    /// Its claims.
    pub claims: Vec<Claim>,
    /// How long it took.
    pub seconds: f64,
    /// Where its files are.
    pub folder: PathBuf,
}

/// The experiments whose id is `wanted` or begins with `wanted/`; all of them without.
pub fn matching(wanted: Option<&str>) -> Result<Vec<&'static PaperExperiment>> {
    let fits = |experiment: &&PaperExperiment| {
        wanted.is_none_or(|wanted| {
            experiment.id == wanted
                || experiment.id.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('/'))
        })
    };
    let found: Vec<_> = EXPERIMENTS.iter().filter(fits).collect();
    if found.is_empty() {
        let known: Vec<&str> = EXPERIMENTS.iter().map(|experiment| experiment.id).collect();
        let remedy = format!("give a paper or one of: {}", known.join(", "));
        let wanted = wanted.unwrap_or_default();
        return Err(reticent::Error::invalid("experiment", wanted, remedy).into());
    }
    Ok(found)
}

impl PaperExperiment {
    /// Runs the experiment into `folder/id` and writes its claims there.
    pub fn reproduce(
        &self,
        extent: Extent,
        folder: &Path,
        progress: &(dyn Fn(&str) + Sync),
    ) -> Result<Reproduction> {
        let folder = folder.join(self.id);
        let start = Instant::now();
        let claims = (self.run)(&Stage { extent, folder: &folder, progress })?;
        let seconds = start.elapsed().as_secs_f64();
        let reproduction = Reproduction { id: self.id, claims, seconds, folder };
        let json = serde_json::to_string_pretty(&reproduction).expect("claims are plain data");
        report::write(&reproduction.folder, "claims.json", &json)?;
        Ok(reproduction)
    }
}
