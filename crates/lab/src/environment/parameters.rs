//! `parameters`: which parameters the arms of a file touch; and arms in blocks for learners that know of no blocks.

use reticent::{bandit::Arms, privacy::Mode, randomize::Bounds, release::Structure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bandit::BanditEnvironment;
use crate::{
    Result,
    play::{Learner, trial::Trial},
};

/// Features of an arm for learners without blocks of parameters, and parameters in all blocks, at most.
pub(crate) const MOST_FEATURES: usize = 1024;
pub(crate) const MOST_PARAMETERS: usize = 1 << 15;

/// Parameters that the arms of a file touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Parameters {
    /// All of one vector: noise and work grow with its square.
    Dense,
    /// A block of parameters for each arm: no noise and no work between blocks.
    PerArm,
    /// A block for each arm, and parameters that all arms share.
    Hybrid,
}

/// The form of a file's arms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// Features of an arm; the last is a constant.
    pub(crate) features: usize,
    /// Number of blocks; 1 if arms do not belong to blocks.
    pub(crate) blocks: usize,
    /// Features, the last ones, of parameters that all arms share, where any are: the constant at least.
    pub(crate) shared: usize,
    pub(crate) parameters: Parameters,
}

impl Shape {
    /// Embedding of arms in blocks for learners without blocks: with the constant shared, so that they all have it.
    pub(crate) fn embedding(&self) -> Option<Structure> {
        let Shape { blocks, shared, .. } = *self;
        (blocks > 1).then_some(Structure { blocks, shared })
    }

    /// The environment for learners with blocks.
    pub(crate) fn structure(&self) -> Structure {
        match (self.embedding(), self.parameters) {
            (None, _) => Structure::DENSE,
            (Some(embedding), Parameters::Hybrid) => embedding,
            (Some(embedding), _) => Structure::blocks(embedding.blocks),
        }
    }
}

impl BanditEnvironment {
    /// The environment for learners without blocks of parameters: their arms have zeros for the blocks of others.
    pub fn dense(&self) -> Result<Self> {
        let Some(embedding) = self.embedding.filter(|_| !self.embeds) else {
            return Ok(self.clone());
        };
        let bounds = Bounds { structure: embedding, ..self.bounds }.embedded();
        if bounds.dimension > MOST_FEATURES {
            let remedy = format!(
                "{} features in all blocks, at most {MOST_FEATURES} for learners that know of none: name fewer columns, or take linucb, joint or local",
                bounds.dimension
            );
            return Err(reticent::Error::invalid("features", bounds.dimension, remedy).into());
        }
        Ok(BanditEnvironment { bounds, embeds: true, ..self.clone() })
    }

    /// The environment of a learner in this mode: a publication's has no blocks.
    pub(crate) fn suiting(&self, mode: Mode) -> Result<Self> {
        match mode {
            Mode::Exact => Ok(self.clone()),
            Mode::Paper => self.dense(),
        }
    }

    /// One trial of a learner on this environment's arms, embedded where they are to be.
    pub(crate) fn trial(
        &self,
        seed: u64,
        trial: u64,
        learner: &mut dyn Learner,
        checkpoints: &[u64],
    ) -> Result<Trial> {
        match self.embedding.filter(|_| self.embeds) {
            None => self.trials.run(seed, trial, learner, checkpoints),
            Some(structure) => {
                let mut learner = Embedded { learner, structure };
                self.trials.run(seed, trial, &mut learner, checkpoints)
            }
        }
    }
}

/// A learner that is given arms with zeros for all blocks but their own.
struct Embedded<'a> {
    learner: &'a mut dyn Learner,
    structure: Structure,
}

impl Learner for Embedded<'_> {
    fn inner(&self) -> Option<&dyn Learner> {
        Some(self.learner)
    }

    fn inner_mut(&mut self) -> Option<&mut dyn Learner> {
        Some(self.learner)
    }

    fn choose(&mut self, arms: &Arms, round: u64) -> Result<usize> {
        self.learner.choose(&arms.embedded(self.structure)?, round)
    }

    fn probabilities(&self, arms: &Arms) -> Result<Option<Vec<f64>>> {
        self.learner.probabilities(&arms.embedded(self.structure)?)
    }

    fn observe(&mut self, round: u64, features: &[f64], reward: f64) -> Result<()> {
        self.observe_in_block(round, 0, features, reward)
    }

    fn observe_in_block(
        &mut self,
        round: u64,
        block: usize,
        features: &[f64],
        reward: f64,
    ) -> Result<()> {
        self.learner.observe(round, &self.structure.embed(block, features)?, reward)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Experiment;

    /// Five classes, each given by the largest of five numbers.
    fn table(name: &str) -> std::path::PathBuf {
        let path =
            std::env::temp_dir().join(format!("reticent-blocks-{}-{name}.csv", std::process::id()));
        let mut text = String::from("a,b,c,d,e,best,action,propensity,reward\n");
        for line in 0..4000_usize {
            let x: Vec<usize> =
                (0..5).map(|i| (line * (i + 7) * 31 + i * line * line) % 97).collect();
            let best = (0..5).max_by_key(|i| x[*i]).unwrap();
            let action = line % 5;
            let cells: Vec<String> = x.iter().map(ToString::to_string).collect();
            let reward = u8::from(action == best);
            text += &format!("{},class {best},class {action},0.2,{reward}\n", cells.join(","));
        }
        std::fs::write(&path, text).unwrap();
        path
    }

    fn experiment(environment: &str, algorithms: &str) -> Result<Experiment> {
        Experiment::parse(&format!(
            "name = \"t\"\nrounds = 3000\n[environment]\n{environment}\n{algorithms}"
        ))
    }

    /// Embedded arms and arms in blocks are one model to learners without noise; private ones have less noise in blocks.
    #[test]
    fn classes_are_one_model_embedded_and_in_blocks() {
        let path = table("classes");
        let table = |parameters: &str| {
            format!(
                "kind = \"table\"\nfile = {path:?}\nlabel = \"best\"\nfeatures = [\"a\", \"b\", \"c\", \"d\", \"e\"]\nparameters = \"{parameters}\""
            )
        };
        let regret = |parameters: &str, algorithm: &str| {
            let found = experiment(&table(parameters), algorithm).unwrap();
            found.algorithms()[0].trial(1, 0, &[3000]).unwrap().curve[0].regret
        };
        for rule in ["tuned", "certified"] {
            let linucb = format!("[[algorithm]]\nkind = \"linucb\"\nrule = \"{rule}\"");
            // Classes that were not chosen yet tie exactly in blocks, and to rounding where arms are embedded.
            let (dense, hybrid) = (regret("dense", &linucb), regret("hybrid", &linucb));
            assert!((dense / hybrid - 1.0).abs() < 0.1, "{rule}: {dense} {hybrid}");
            let own = regret("per_arm", &linucb);
            assert!(own < 2000.0 && own != dense, "{rule}: {own}");
        }
        // Learners that know of no blocks see embedded arms, whatever is said.
        for kind in ["shuffle", "online_ucb"] {
            let more = if kind == "shuffle" { "batch = 100\n" } else { "" };
            let lines = format!(
                "[[algorithm]]\nkind = \"{kind}\"\n{more}privacy = {{ epsilon = 4.0, delta = 1e-5 }}"
            );
            assert_eq!(regret("dense", &lines), regret("per_arm", &lines), "{kind}");
        }
        let private = |kind: &str, method: &str| {
            format!(
                "[[algorithm]]\nkind = \"{kind}\"\n{method}\nprivacy = {{ epsilon = 4.0, delta = 1e-5 }}"
            )
        };
        for lines in
            [private("joint", ""), private("local", "method = \"unit_gram\""), private("local", "")]
        {
            let found = experiment(&table("per_arm"), &lines).unwrap();
            let algorithm = found.algorithms()[0];
            assert!(algorithm.guarantee().unwrap().epsilon() <= 4.0 * (1.0 + 1e-9));
            algorithm.trial(1, 0, &[300]).unwrap();
        }
        let refused = experiment(&table("hybrid"), &private("joint", "rule = \"certified\""));
        let error = refused.map(drop).unwrap_err().to_string();
        assert!(error.contains("rule: got certified") && error.contains("thompson"), "{error}");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_log_is_learnt_in_blocks_and_embedded() {
        let path = table("log");
        let table = |parameters: &str| {
            format!(
                "kind = \"logged\"\nfile = {path:?}\nfeatures = [\"a\", \"b\", \"c\", \"d\", \"e\"]\n{parameters}"
            )
        };
        let value = |parameters: &str, algorithm: &str| {
            let found = experiment(&table(parameters), algorithm).unwrap();
            found.algorithms()[0].trial(1, 0, &[3000]).unwrap().measures[0].value
        };
        let linucb = "[[algorithm]]\nkind = \"linucb\"";
        let (dense, hybrid, own) = (
            value("parameters = \"dense\"", linucb),
            value("parameters = \"hybrid\"", linucb),
            value("", linucb),
        );
        assert!((dense - hybrid).abs() < 1e-9, "{dense} {hybrid}");
        assert!(own > 0.4, "{own}");
        let joint = "[[algorithm]]\nkind = \"joint\"\nprivacy = { epsilon = 8.0, delta = 1e-5 }";
        assert!(value("", joint) > 0.3);
        std::fs::remove_file(path).unwrap();
    }

    /// Bounds of a learner in blocks, and the number of parameters of others.
    #[test]
    fn settings_tell_blocks_and_their_embedding() {
        let path = table("environment");
        let lines = format!(
            "kind = \"table\"\nfile = {path:?}\nlabel = \"best\"\nfeatures = [\"a\", \"b\"]"
        );
        let environment = BanditEnvironment::new(&toml::from_str(&lines).unwrap(), 100).unwrap();
        // Two columns, the 1 beside them, and the constant.
        assert_eq!(
            (environment.bounds.dimension, environment.bounds.structure),
            (4, Structure::blocks(5))
        );
        let dense = environment.dense().unwrap();
        assert_eq!(
            (dense.bounds.dimension, dense.bounds.intercept),
            (16, environment.bounds.intercept)
        );
        assert!(dense.bounds.structure.is_dense());
        std::fs::remove_file(path).unwrap();
    }
}
