//! `reticent learn`: learns a linear model in one pass over a file of people, with noise that protects them.
//!
//! The model is a function of the randomised reports alone, so the guarantee of a report is the guarantee of the model. Lines are processed
//! in the order of the file; each line is one person.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    path::{Path, PathBuf},
};

use reticent::{
    Error as CoreError,
    noise::Noise,
    online::{LinearModel, Loss, OnlineParams},
    schema::Count,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Privacy, Source, people::AnyRandomizer};
use crate::environment::online::{
    records::{RecordToml, Records},
    scaling::{Column, Ranges},
};
use crate::{Error, Result, algorithm::Certificate};

/// A TOML file for `reticent learn`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LearnFile {
    /// The people: CSV with a line of names; relative to the file that names it.
    pub file: PathBuf,
    /// Other people, on whom the model is tested. The test results are not protected.
    pub test: Option<PathBuf>,
    /// The column that holds labels; the last by default.
    pub label: Option<String>,
    /// The columns that are features; all others by default.
    pub features: Option<Vec<String>>,
    /// The loss.
    pub loss: Loss,
    /// Public ranges of columns; values beyond are clipped.
    #[serde(default)]
    pub ranges: Ranges,
    /// The privacy level of everybody; no privacy by default.
    pub privacy: Option<Privacy>,
    /// The column that holds each person's own epsilon, in place of `privacy`: 0 sends nothing, inf sends the gradient without noise.
    pub epsilon_column: Option<String>,
    /// The largest number of lines about one person. Epsilons are given per line; certificates cover all lines of a person, whatever their
    /// levels.
    #[serde(default = "crate::lines::one")]
    #[schemars(with = "Count")]
    pub lines_per_person: u64,
}

/// A feature and its weight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Weight {
    /// The column, and the values that become -1 and 1.
    #[serde(flatten)]
    pub column: Column,
    /// The change of the score when the scaled feature grows by 1.
    pub weight: f64,
}

/// Test results on other people.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Test {
    /// The number of people.
    pub people: usize,
    /// The mean loss of the model's scores.
    pub mean_loss: f64,
    /// The same for a score of 0.
    pub mean_loss_of_zero: f64,
    /// The share of correct classes, for classification losses.
    pub accuracy: Option<f64>,
}

/// A linear model that can be used: `score = constant + sum weight * clip(scaled feature)`.
#[derive(Debug, Clone, Serialize)]
pub struct Learnt {
    /// The loss.
    pub loss: Loss,
    /// One weight for each feature.
    pub features: Vec<Weight>,
    /// The weight of the constant feature.
    pub constant: f64,
    /// The labels that scores of -1 and 1 stand for; for classification, the class of a negative and of a positive score.
    pub label: Column,
    /// People who sent a report with noise.
    pub private: u64,
    /// People who sent their gradient without noise.
    pub in_the_clear: u64,
    /// People who sent nothing.
    pub silent: u64,
    /// The guarantees of the private people: by level if each has one line, else one that holds for any lines of a person.
    pub certificates: Vec<Certificate>,
    /// Test results on other people, if any were given.
    pub test: Option<Test>,
    /// Warnings for the reader.
    pub warnings: Vec<String>,
    /// A message for the holder of the file only: no certificate covers it, so it is not part of the model.
    #[serde(skip)]
    pub for_the_holder: Vec<String>,
}

/// Conditions of a guarantee when one machine simulates everybody's device.
const CONDITIONS: [&str; 2] = [
    "no person has more lines than that, and the lines' order does not depend on the data",
    "the operator of this run sees the file; people are protected from those who see only the model and the reports",
];

/// The largest number of levels with certificates of their own; with more levels, all people get the guarantee of the largest epsilon.
const LEVELS: usize = 10;

impl LearnFile {
    /// Reads a TOML file; unknown keys are refused.
    pub fn parse(text: &str) -> Result<Self> {
        crate::parse_lines(text)
    }

    /// The same with its paths, which are relative to this folder, for a program that runs elsewhere.
    pub fn beside(mut self, folder: &Path) -> Self {
        self.file = folder.join(&self.file);
        self.test = self.test.map(|test| folder.join(test));
        self
    }

    fn records(&self, file: &Path, ranges: &Ranges) -> RecordToml {
        let LearnFile { label, features, loss, epsilon_column, .. } = self.clone();
        RecordToml {
            file: file.to_path_buf(),
            label,
            features,
            loss,
            ranges: ranges.clone(),
            besides: epsilon_column,
        }
    }

    /// One pass over the people.
    pub fn learn<N: Noise>(&self, noise: &mut N) -> Result<Learnt> {
        if self.privacy.is_some() && self.epsilon_column.is_some() {
            let remedy = "give either `privacy` for everybody or `epsilon_column` with a level for each person";
            return Err(
                CoreError::invalid("epsilon_column", "a value beside privacy", remedy).into()
            );
        }
        if let Some(Privacy { people: Some(people), .. }) = self.privacy {
            let remedy = "leave it out: the levels are in `epsilon_column`";
            return Err(CoreError::invalid("people", people, remedy).into());
        }
        if self.lines_per_person == 0 {
            return Err(CoreError::invalid("lines_per_person", 0, "expected 1 or more").into());
        }
        let records = self.records(&self.file, &self.ranges).read()?;
        if self.privacy.is_some() || self.epsilon_column.is_some() {
            records.scaling().check_public()?;
        }
        // One randomiser for everybody, or one for each level.
        let mut randomizers: BTreeMap<u64, (AnyRandomizer, u64)> = BTreeMap::new();
        let mut everybody = f64::INFINITY;
        if let Some(privacy) = &self.privacy {
            everybody = 1.0;
            randomizers.insert(everybody.to_bits(), (AnyRandomizer::new(privacy, &records)?.0, 0));
        }
        let params = OnlineParams::new(records.dimension(), records.gradient_bound());
        let mut model = LinearModel::new(params.check()?.start(), self.loss);
        let (mut in_the_clear, mut silent) = (0, 0);
        for (index, (features, label)) in records.people().iter().enumerate() {
            let level = records.besides().get(index).copied().unwrap_or(everybody);
            if level == 0.0 {
                silent += 1;
                model.skip();
                continue;
            }
            if level == f64::INFINITY {
                in_the_clear += 1;
                model.observe(features, *label)?;
                continue;
            }
            // The person's score, loss and clipping are not used.
            let (gradient, _) = model.gradient(features, *label)?;
            // Positive doubles are ordered as their bits are.
            let (randomizer, people) = match randomizers.entry(level.to_bits()) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => {
                    let person = |error| Error::Experiment {
                        reason: format!("{}, person {}, {error}", self.file.display(), index + 1),
                    };
                    let asked = Privacy::everybody(level);
                    let (randomizer, _) = AnyRandomizer::new(&asked, &records).map_err(person)?;
                    place.insert((randomizer, 0))
                }
            };
            *people += 1;
            model.absorb(&randomizer.report((&gradient).into(), noise)?)?;
        }
        let weights = model.learner().weights();
        let scaling = records.scaling();
        let weight = |(column, weight): (&Column, &f64)| Weight {
            column: column.clone(),
            weight: scaling.unit() * weight,
        };
        let mut warnings = Vec::new();
        if let Some(broken) = model.learner().bound_broken() {
            warnings.push(broken.to_string());
        }
        if self.loss.derivative_bound().is_none() {
            warnings.push("gradients longer than 1 are clipped, which biases the model towards people with small losses".into());
        }
        if self.test.is_some() {
            warnings.push("the results on the people of `test` are not protected".into());
        }
        if in_the_clear > 0 {
            warnings.push(format!(
                "{in_the_clear} people asked for no privacy: the model may reveal what they sent"
            ));
        }
        Ok(Learnt {
            loss: self.loss,
            features: scaling.features.iter().zip(&weights).map(weight).collect(),
            constant: scaling.unit() * weights[scaling.features.len()],
            label: scaling.label.clone(),
            private: randomizers.values().map(|(_, people)| people).sum(),
            in_the_clear,
            silent,
            certificates: self.certificates(
                &records,
                &randomizers,
                in_the_clear,
                N::PROTECTS_PEOPLE,
            )?,
            test: self.test(&model, &records)?,
            warnings,
            for_the_holder: records.clipped().into_iter().cloned().collect(),
        })
    }

    fn test(&self, model: &LinearModel, learnt_from: &Records) -> Result<Option<Test>> {
        let Some(file) = &self.test else { return Ok(None) };
        // On the scale that the model was learnt on.
        let scaling = learnt_from.scaling();
        let columns = scaling.features.iter().chain([&scaling.label]);
        let ranges = columns
            .filter(|column| column.low < column.high)
            .map(|column| (column.name.clone(), (column.low, column.high)))
            .collect();
        let features = Some(scaling.features.iter().map(|column| column.name.clone()).collect());
        let label = Some(scaling.label.name.clone());
        let records = self.records(file, &ranges);
        let records = RecordToml { features, label, besides: None, ..records }.read()?;
        let protected = self.privacy.is_some() || self.epsilon_column.is_some();
        if protected && records.people() == learnt_from.people() {
            let remedy = "these people are protected, and test results would reveal their data; expected a file of other people";
            return Err(CoreError::invalid("test", file.display(), remedy).into());
        }
        let (mut loss, mut zero, mut right) = (0.0, 0.0, 0.0);
        for (features, label) in records.people() {
            let score = model.score(features)?;
            loss += self.loss.value(score, *label)?;
            zero += self.loss.value(0.0, *label)?;
            right += if score == 0.0 { 0.5 } else { f64::from(u8::from(score * label > 0.0)) };
        }
        let people = records.people().len();
        let mean = |sum: f64| sum / people as f64;
        let accuracy = self.loss.classifies().then(|| mean(right));
        Ok(Some(Test { people, mean_loss: mean(loss), mean_loss_of_zero: mean(zero), accuracy }))
    }

    fn certificates(
        &self,
        records: &Records,
        randomizers: &BTreeMap<u64, (AnyRandomizer, u64)>,
        in_the_clear: u64,
        protects: bool,
    ) -> Result<Vec<Certificate>> {
        let mut conditions = records.conditions();
        conditions.extend(CONDITIONS.map(String::from));
        if self.test.is_some() {
            conditions.push("no person in the file `test` is among these people".into());
        }
        if in_the_clear > 0 && self.lines_per_person > 1 {
            let clear = "no line of such a person asks for no privacy (epsilon = inf): such a line is sent without noise";
            conditions.push(clear.into());
        }
        let certificate = |whom: String, sent: &[(&AnyRandomizer, u64)]| -> Result<Certificate> {
            // One machine reads the file, so the trust model is that of a curator.
            let guarantee = AnyRandomizer::curated_guarantee(sent)?;
            let guarantee = if protects { guarantee } else { guarantee.simulated() };
            let guarantee = conditions.iter().fold(guarantee, |g, c| g.with_condition(c));
            Ok(Certificate { whom, guarantee })
        };
        let lines = self.lines_per_person;
        let people: u64 = randomizers.values().map(|(_, people)| people).sum();
        match randomizers.iter().next_back() {
            Some((level, (randomizer, _))) if lines == 1 && randomizers.len() > LEVELS => {
                let below = f64::from_bits(*level);
                let whom = format!(
                    "all {people} private people; a stronger guarantee holds for those below {below}"
                );
                Ok(vec![certificate(whom, &[(randomizer, 1)])?])
            }
            Some((_, (randomizer, _))) if self.epsilon_column.is_none() => {
                Ok(vec![certificate(format!("all {people} people"), &[(randomizer, lines)])?])
            }
            // It is not known which lines belong to one person; the worst case are the lines with the largest epsilons.
            Some(_) if lines > 1 => {
                let whom = format!(
                    "a person with up to {lines} of the {people} private lines, whatever their levels"
                );
                Ok(vec![certificate(whom, &least_private(randomizers, lines))?])
            }
            _ => {
                let each = randomizers.iter().map(|(level, (randomizer, people))| {
                    let level = f64::from_bits(*level);
                    let whom = format!("the {people} people who asked for epsilon = {level}");
                    certificate(whom, &[(randomizer, 1)])
                });
                each.collect()
            }
        }
    }
}

/// The `most` lines of the largest levels: all are epsilon-DP reports, whose epsilons add up, so no other lines of one person cost more.
fn least_private(
    randomizers: &BTreeMap<u64, (AnyRandomizer, u64)>,
    most: u64,
) -> Vec<(&AnyRandomizer, u64)> {
    let mut left = most;
    let mut worst = Vec::new();
    for (randomizer, lines) in randomizers.values().rev() {
        let taken = left.min(*lines);
        if taken > 0 {
            worst.push((randomizer, taken));
        }
        left -= taken;
    }
    worst
}
