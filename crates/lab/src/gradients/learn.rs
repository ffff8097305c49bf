//! `reticent learn`: one pass over a file of people gives a linear model, with noise that protects them.
//!
//! Everything but the randomised reports stays with the people: the model is a function of the reports alone, so the guarantee of a
//! report is the guarantee of the model, whoever sees it. Lines are taken in the file's order, each line one person.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    path::{Path, PathBuf},
};

use reticent::{
    Error as CoreError,
    noise::Noise,
    online::{LinearModel, Loss, OnlineParams},
};
use serde::{Deserialize, Serialize};

use super::{
    Privacy, Source,
    people::AnyRandomizer,
    records::{RecordToml, Records},
    scaling::{Column, Ranges},
};
use crate::{Error, Result, contest::Certificate};

/// A TOML file for `reticent learn`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearnFile {
    /// The people: CSV with a line of names.
    pub file: PathBuf,
    /// Other people, to see how well the model does on them. What is measured on them is not protected.
    #[serde(default)]
    pub test: Option<PathBuf>,
    /// The column that holds labels; the last by default.
    #[serde(default)]
    pub label: Option<String>,
    /// The columns that are features; all others by default.
    #[serde(default)]
    pub features: Option<Vec<String>>,
    /// What people lose.
    pub loss: Loss,
    /// Public ranges of columns; values beyond are clipped.
    #[serde(default)]
    pub ranges: Ranges,
    /// What everybody asks for; nothing by default.
    #[serde(default)]
    pub privacy: Option<Privacy>,
    /// The column that holds each person's own epsilon, in place of `privacy`: 0 sends nothing, inf asks for nothing.
    #[serde(default)]
    pub epsilon_column: Option<String>,
    /// Lines of the file that are about one person, at most; epsilons are those of one line, and certificates are for all of them,
    /// whatever levels they have.
    #[serde(default = "one")]
    pub lines_per_person: u64,
}

fn one() -> u64 {
    1
}

/// A feature and its weight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Weight {
    /// The column, and what of it becomes -1 and 1.
    #[serde(flatten)]
    pub column: Column,
    /// What the score gains from -1 to 0, or from 0 to 1.
    pub weight: f64,
}

/// What was measured on other people.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Test {
    /// How many.
    pub people: usize,
    /// The mean loss of the model's scores.
    pub mean_loss: f64,
    /// The same for a score of 0.
    pub mean_loss_of_zero: f64,
    /// The share of right classes, for losses of classes.
    pub accuracy: Option<f64>,
}

/// A linear model that can be used: `score = constant + sum weight * clip(scaled feature)`.
#[derive(Debug, Clone, Serialize)]
pub struct Learnt {
    /// What was lost.
    pub loss: Loss,
    /// One weight for each feature.
    pub features: Vec<Weight>,
    /// The constant feature's.
    pub constant: f64,
    /// What a score of -1 and 1 stands for; for classes, the class of a negative and of a positive score.
    pub label: Column,
    /// People who sent a report with noise.
    pub private: u64,
    /// People who sent their gradient as it was.
    pub in_the_clear: u64,
    /// People who sent nothing.
    pub silent: u64,
    /// What the private people are promised: by level if each has one line, else what holds for whatever lines one of them has.
    pub certificates: Vec<Certificate>,
    /// What was measured on other people, if any were given.
    pub test: Option<Test>,
    /// What a careful reader must know.
    pub warnings: Vec<String>,
    /// What is told to whoever holds the file and is not part of the model, because no certificate covers it.
    #[serde(skip)]
    pub for_the_holder: Vec<String>,
}

/// What a guarantee rests on where one machine plays everybody's device.
const CONDITIONS: [&str; 2] = [
    "no person has more lines than that, and the lines' order does not depend on the data",
    "whoever runs this sees the file; people are protected from those who see the model and the reports only",
];

/// So many levels are each promised something of their own; more are promised what the least careful is.
const LEVELS: usize = 10;

impl LearnFile {
    /// Reads a TOML file; unknown lines are refused.
    pub fn parse(text: &str) -> Result<Self> {
        crate::parse_lines(text)
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
            let remedy = "give either what everybody asks for or the column of their own levels";
            return Err(CoreError::invalid("epsilon_column", "beside privacy", remedy).into());
        }
        if let Some(Privacy { people: Some(people), .. }) = self.privacy {
            let remedy = "leave it out: who asks for what stands in `epsilon_column`";
            return Err(CoreError::invalid("people", people, remedy).into());
        }
        if self.lines_per_person == 0 {
            return Err(CoreError::invalid("lines_per_person", 0, "give 1 or more").into());
        }
        let records = self.records(&self.file, &self.ranges).read()?;
        if self.privacy.is_some() || self.epsilon_column.is_some() {
            records.scaling().check_public()?;
        }
        // One randomiser for everybody, whatever its levels, or one for each level that is asked for.
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
            // What the lesson says of score, loss and clipping stays with the person.
            let (gradient, _) = model.gradient(features, *label)?;
            // Positive doubles are ordered as their bits are.
            let (randomizer, people) = match randomizers.entry(level.to_bits()) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => {
                    let person = |error| Error::Experiment {
                        reason: format!("{}: person {}: {error}", self.file.display(), index + 1),
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
            warnings.push("gradients longer than 1 are clipped, which draws the model to the people nearest to it".into());
        }
        if self.test.is_some() {
            warnings.push("what is measured on the people of `test` is not protected".into());
        }
        if in_the_clear > 0 {
            warnings.push(format!(
                "{in_the_clear} people asked for no privacy: the model may show what they sent"
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
            let remedy = "these are the people who are protected: what is measured on them would show them; give others";
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
            conditions.push("nobody in the file `test` is among these people".into());
        }
        if in_the_clear > 0 && self.lines_per_person > 1 {
            let clear = "no line of such a person asks for no privacy (epsilon = inf): such a line is sent as it is";
            conditions.push(clear.into());
        }
        let certificate = |whom: String, sent: &[(&AnyRandomizer, u64)]| -> Result<Certificate> {
            // One machine reads the file: it is a curator, and people trust it.
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
                let whom = format!("all {people} private people, and more to those below {below}");
                Ok(vec![certificate(whom, &[(randomizer, 1)])?])
            }
            Some((_, (randomizer, _))) if self.epsilon_column.is_none() => {
                Ok(vec![certificate(format!("all {people} people"), &[(randomizer, lines)])?])
            }
            // Which lines are one person's is not known: at worst the ones that ask for least.
            Some(_) if lines > 1 => {
                let whom = format!(
                    "whoever has up to {lines} of the {people} private lines, whatever levels these ask for"
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
