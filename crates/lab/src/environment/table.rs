//! `kind = "table"`: any CSV file with features and a class becomes a contextual bandit, one arm a class.
//!
//! Every round a line is drawn, or the next one taken. The reward is 1 for its class and 0 for every other; regret counts mistakes. Arm k has the
//! features
//!
//! ```text
//! (x/|x| / sqrt 2, 1/sqrt 2),    x = (columns scaled to [-1, 1], 1)
//! ```
//!
//! in block k: parameters of its own (`parameters = "per_arm"`), or of its own for x and shared ones for the constant (`"hybrid"`). Learners
//! that know of no blocks, and `"dense"`, have `(0, ..., x/|x| / sqrt 2, ..., 0, 1/sqrt 2)`, as on the sphere of paper 0: of norm 1,
//! with a constant they share, and everything that is known of those holds.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use reticent::{
    Error as CoreError,
    bandit::Arms,
    features::{Fourier, Products},
    noise::Noise,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{bandit::BanditEnvironment, columns::Missing, modifiers::Modifiers};
use super::{
    bandit::{NOT_COVERED, RoundByRound, TrialEnvironment},
    columns::{Columns, ColumnsToml},
    parameters::{Parameters, Shape},
};
use crate::{
    FastNoise, Result,
    csv::{Rows, unusable},
    environment::Environment,
};

/// Classes, at most: a label with more is likely to be a number.
const MOST_CLASSES: usize = 100;

/// Keys of `kind = "table"`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableToml {
    /// The file, CSV with a line of names; relative to the file that names it.
    pub file: PathBuf,
    /// The column that holds the class; the last by default.
    pub label: Option<String>,
    /// The columns that are features; all others by default.
    pub features: Option<Vec<String>>,
    /// The lowest and the highest number of a column, publicly known; by default what the file has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ranges: BTreeMap<String, (f64, f64)>,
    /// The words of a column, publicly known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub categories: BTreeMap<String, Vec<String>>,
    /// Columns of words without a list, each with the number of buckets that they are hashed into.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hashes: BTreeMap<String, u32>,
    /// Treatment of empty cells.
    #[serde(default)]
    pub missing: Missing,
    /// Products of the columns that are numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub products: Option<Products>,
    /// Random Fourier features of the columns that are numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fourier: Option<Fourier>,
    /// Order of the lines.
    #[serde(default)]
    pub order: Order,
    /// Parameters of classes.
    #[serde(default = "per_arm")]
    pub parameters: Parameters,
}

pub(crate) fn per_arm() -> Parameters {
    Parameters::PerArm
}

/// Order of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Any, drawn with replacement: the file is held in memory, 8 bytes a feature.
    #[default]
    Drawn,
    /// The file's own, from the top again when it ends: memory does not grow with the file.
    File,
}

/// A file that has been read through once.
#[derive(Debug)]
struct TableBandit {
    path: PathBuf,
    columns: Columns,
    label: usize,
    classes: Vec<String>,
    order: Order,
    /// Lines: their features one after the other, and their classes.
    features: Vec<f64>,
    labels: Vec<u8>,
}

impl TableToml {
    /// Reads the file; an error names the line and the column.
    pub(crate) fn environment(
        &self,
        rounds: u64,
        modifiers: Modifiers,
    ) -> Result<BanditEnvironment> {
        modifiers.of_a_file()?;
        let path: &Path = &self.file;
        let mut rows = Rows::open(path)?;
        let last = rows.names().last().cloned().unwrap_or_default();
        let label = self.label.clone().unwrap_or(last);
        let place = rows.column(&label)?;
        let lines = ColumnsToml {
            features: self.features.as_deref(),
            ranges: &self.ranges,
            categories: &self.categories,
            hashes: &self.hashes,
            missing: self.missing,
            products: self.products.as_ref(),
            fourier: self.fourier.as_ref(),
        };
        let mut columns = Columns::new(&rows, path, lines, &[&label])?;
        Columns::all_known(&[&columns], lines)?;
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        while let Some((line, cells)) = rows.next()? {
            columns.widen(&cells, line)?;
            if cells[place].is_empty() {
                let reason =
                    format!("line {line}: {label} is missing; fill it in, or leave the line out");
                return Err(unusable(path, reason));
            }
            if counts.len() > MOST_CLASSES {
                break;
            }
            *counts.entry(cells[place].clone()).or_default() += 1;
        }
        if !(2..=MOST_CLASSES).contains(&counts.len()) {
            let more = if counts.len() > MOST_CLASSES { " or more" } else { "" };
            let remedy = format!(
                "{label:?} has {} different values{more}: one arm is made of each, so give a column with 2 to {MOST_CLASSES}",
                counts.len()
            );
            return Err(CoreError::invalid("label", label, remedy).into());
        }
        columns.settle()?;
        let lines: u64 = counts.values().sum();
        let mut protected = vec![NOT_COVERED.to_string()];
        protected.push(format!(
            "that the classes are {} is public",
            counts.keys().cloned().collect::<Vec<_>>().join(", ")
        ));
        protected.extend(columns.remarks());
        let mut remarks = vec![remark(&counts)];
        remarks.extend(columns.remarks());
        remarks.extend(columns.clipped());
        let hash = rows.hash();
        let classes: Vec<String> = counts.into_keys().collect();
        let table = TableBandit {
            path: path.to_path_buf(),
            columns,
            label: place,
            classes,
            order: self.order,
            features: Vec::new(),
            labels: Vec::new(),
        };
        let table = Arc::new(table.loaded()?);
        let arms = table.classes.len();
        let shape = Shape {
            features: table.features_of_an_arm(),
            blocks: arms,
            shared: 1,
            parameters: self.parameters,
        };
        let rewards = (0.0, 1.0);
        let trials = |modifiers| -> Arc<dyn TrialEnvironment> {
            Arc::new(RoundByRound {
                modifiers,
                remarks,
                data_hash: hash,
                headline: Some("accuracy"),
                start: Box::new(move |seed| Ok(Box::new(Lines::new(table.clone(), seed)?))),
            })
        };
        let environment = BanditEnvironment::of_a_file(
            shape, arms, rewards, rounds, modifiers, protected, trials,
        )?;
        Ok(BanditEnvironment { returns: Some(("line", lines as usize)), ..environment })
    }
}

/// Mean regret of a random choice.
fn remark(counts: &BTreeMap<String, u64>) -> String {
    let lines: u64 = counts.values().sum();
    let commonest = counts.iter().max_by_key(|(_, count)| **count);
    let (word, count) = commonest.map_or(("", 0), |(word, count)| (word.as_str(), *count));
    let names: Vec<&str> = counts.keys().map(String::as_str).collect();
    format!(
        "{lines} lines, classes {}; always saying {word:?} errs in {:.1} % of the rounds. The classes were taken from the file: they must be public",
        names.join(", "),
        100.0 * (1.0 - count as f64 / lines as f64)
    )
}

impl TableBandit {
    fn features_of_an_arm(&self) -> usize {
        self.columns.width() + 2
    }

    /// The same with its lines in memory, where they are drawn.
    fn loaded(mut self) -> Result<Self> {
        if self.order == Order::Drawn {
            let mut rows = Rows::open(&self.path)?;
            while let Some((line, cells)) = rows.next()? {
                self.features.extend(self.columns.features(&cells, line)?);
                self.labels.push(self.class(&cells, line)? as u8);
            }
            self.features.shrink_to_fit();
        }
        Ok(self)
    }

    fn class(&self, cells: &[String], line: usize) -> Result<usize> {
        self.classes.binary_search(&cells[self.label]).map_err(|_| {
            let reason = format!("line {line} has a new class: the file has changed, run again");
            unusable(&self.path, reason)
        })
    }
}

/// Lines of a file, one a round.
struct Lines {
    table: Arc<TableBandit>,
    noise: FastNoise,
    /// Index of the line.
    person: u64,
    /// Lines in the order of the file.
    rows: Option<Rows>,
    fault: Option<crate::Error>,
    arms: Arms,
    means: Vec<f64>,
}

impl Lines {
    fn new(table: Arc<TableBandit>, seed: u64) -> Result<Self> {
        let rows = match table.order {
            Order::Drawn => None,
            Order::File => Some(Rows::open(&table.path)?),
        };
        let mut arms = Arms::zeros(table.features_of_an_arm(), table.classes.len())?;
        arms.set_blocks(&Vec::from_iter(0..table.classes.len()))?;
        Ok(Lines {
            arms,
            means: vec![0.0; table.classes.len()],
            noise: FastNoise::seeded(seed),
            person: 0,
            table,
            rows,
            fault: None,
        })
    }

    /// The next line of the file, from the top again after the last.
    fn next(table: &TableBandit, rows: &mut Rows) -> Result<(u64, Vec<f64>, usize)> {
        let next = match rows.next()? {
            Some(next) => Some(next),
            None => {
                *rows = Rows::open(&table.path)?;
                rows.next()?
            }
        };
        let Some((line, cells)) = next else {
            return Err(unusable(&table.path, "it has no lines any more".into()));
        };
        Ok((line as u64, table.columns.features(&cells, line)?, table.class(&cells, line)?))
    }

    fn show(&mut self, x: &[f64], class: usize) {
        let features: Vec<f64> = x.iter().copied().chain([0.5_f64.sqrt()]).collect();
        for arm in 0..self.arms.count() {
            self.arms.set(arm, &features).expect("finite features of the agreed dimension");
            self.means[arm] = f64::from(u8::from(arm == class));
        }
    }
}

impl Environment for Lines {
    fn arms(&mut self) -> &Arms {
        let table = self.table.clone();
        match &mut self.rows {
            None => {
                let index = self.noise.below(table.labels.len() as u64) as usize;
                self.person = index as u64;
                let width = table.columns.width() + 1;
                let x = &table.features[index * width..(index + 1) * width];
                self.show(x, usize::from(table.labels[index]));
            }
            Some(rows) => match Self::next(&table, rows) {
                Ok((line, x, class)) => {
                    self.person = line;
                    self.show(&x, class);
                }
                Err(error) => self.fault = Some(error),
            },
        }
        &self.arms
    }

    fn means(&self) -> &[f64] {
        &self.means
    }

    fn best_mean(&self) -> f64 {
        1.0
    }

    fn reward(&mut self, arm: usize) -> f64 {
        self.means[arm]
    }

    fn person(&self) -> Option<u64> {
        Some(self.person)
    }

    fn fault(&mut self) -> Option<crate::Error> {
        self.fault.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Experiment;
    use reticent::features::Encoding;

    pub(crate) fn file(name: &str, text: &str) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("reticent-table-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        path
    }

    fn run(path: &Path, more: &str, algorithms: &str) -> Result<Experiment> {
        Experiment::parse(&format!(
            "name = \"t\"\nrounds = 3000\ntrials = 2\n[environment]\nkind = \"table\"\nfile = {path:?}\n{more}\n{algorithms}"
        ))
    }

    fn kinds() -> String {
        let mut text = String::from("width,colour,height,kind\n");
        for i in 0..600 {
            let (a, b) = ((i * 37 % 101) as f64 / 50.0, (i * 53 % 97) as f64);
            let kind = if a > 1.2 {
                "tall"
            } else if b > 60.0 {
                "round"
            } else {
                "flat"
            };
            text += &format!("{a},red,{b},{kind}\n");
        }
        text
    }

    #[test]
    fn a_file_of_classes_is_learnt_privately_and_not() {
        let path = file("kinds.csv", &kinds());
        let algorithms = "[[algorithm]]\nkind = \"linucb\"\n[[algorithm]]\nkind = \"joint\"\nprivacy = { epsilon = 8.0, delta = 1e-5 }\n\
            [[algorithm]]\nkind = \"local\"\nprivacy = { epsilon = 1.0, delta = 1e-5 }\n";
        let experiment = run(&path, "features = [\"width\", \"height\"]", algorithms).unwrap();
        assert_ne!(experiment.algorithms()[0].data_hash(), 0);
        let summary = experiment.simulate(|_, _| ()).unwrap();
        let regrets: Vec<f64> = summary.algorithms.iter().map(|a| a.final_regret.mean).collect();
        // Chance errs in two rounds of three; the data are not linear, so no algorithm gets near 0.
        assert!(regrets[0] < 900.0, "{regrets:?}");
        assert!(regrets[0] < regrets[1] && regrets[1] < 2000.0, "{regrets:?}");
        let remarks = experiment.algorithms()[1].remarks().join(" ");
        assert!(remarks.contains("flat, round, tall") && remarks.contains("must be public"));
        // In the file's own order, streamed, it is learnt just as well, and the ranges may be given.
        let ordered = "features = [\"width\", \"height\"]\norder = \"file\"\nranges = { width = [0, 2], height = [0, 96] }";
        let streamed = run(&path, ordered, "[[algorithm]]\nkind = \"linucb\"").unwrap();
        let remarks = streamed.algorithms()[0].remarks().join(" ");
        assert!(!remarks.contains("ranges of"), "{remarks}");
        let certified = run(
            &path,
            ordered,
            "[[algorithm]]\nkind = \"joint\"\nrule = \"certified\"\nprivacy = { epsilon = 4.0, delta = 1e-5 }",
        );
        let remarks = certified.unwrap().algorithms()[0].remarks().join(" ");
        assert!(remarks.contains("only if rewards are linear"), "{remarks}");
        let summary = streamed.simulate(|_, _| ()).unwrap();
        assert!(summary.algorithms[0].final_regret.mean < 900.0);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn products_and_fourier_features_are_those_of_cores_rule() {
        let linucb = "[[algorithm]]\nkind = \"linucb\"\n";
        let path = file("shapes.csv", "x,z,y\n0,1,a\n4,2,b\n1,5,a\n3,0,b\n");
        let ranges = "ranges = { x = [0, 4], z = [0, 5] }";
        let waves = "fourier = { count = 3, scale = 0.5, seed = 7 }";
        let found = run(&path, &format!("{ranges}\n{waves}\nproducts = {{ degree = 2 }}"), linucb);
        found.unwrap().algorithms()[0].trial(1, 0, &[50]).unwrap();
        let rows = Rows::open(&path).unwrap();
        let given = BTreeMap::from([("x".to_string(), (0.0, 4.0)), ("z".to_string(), (0.0, 5.0))]);
        let (fourier, products) = (
            Fourier { count: 3, scale: 0.5, seed: 7, with: None },
            Products { degree: 2, with: None },
        );
        let lines = ColumnsToml {
            features: None,
            ranges: &given,
            categories: &BTreeMap::new(),
            hashes: &BTreeMap::new(),
            missing: Missing::Refuse,
            products: Some(&products),
            fourier: Some(&fourier),
        };
        let mut columns = Columns::new(&rows, &path, lines, &["y"]).unwrap();
        columns.settle().unwrap();
        // Two numbers, three monomials, three waves of two.
        assert_eq!(columns.width(), 2 + 3 + 6);
        let row = columns.raw(&["1".into(), "5".into(), "a".into()], 2).unwrap();
        let mut rule = reticent::features::FeaturesParams::new(
            given.into_iter().map(|(name, (low, high))| (name, Encoding::Range(low, high))),
            std::iter::empty(),
        );
        (rule.constant, rule.products, rule.fourier) = (false, Some(products), Some(fourier));
        let record = reticent::features::Value::from_iter([("x", "1"), ("z", "5")]);
        let plan = rule.check().unwrap();
        let whole =
            plan.vector(&record, &reticent::features::Value::Missing, &mut Default::default());
        assert_eq!(row, whole);

        for (wrong, words) in [
            (
                "fourier = { count = 0, scale = 0.5, seed = 7 }",
                ["fourier.count", "0", "give 16 to 64"],
            ),
            (
                "fourier = { count = 3, scale = -1.0, seed = 7 }",
                ["fourier.scale", "-1", "0.001 to 1000"],
            ),
            ("fourier = { count = 3000, scale = 1.0, seed = 7 }", ["dimension", "6002", "fewer"]),
            (
                "fourier = { count = 3, scale = 1.0, seed = 7, with = \"y\" }",
                ["fourier.with", "y", "leave it out"],
            ),
            ("products = { degree = 4 }", ["products.degree", "4", "2 or 3"]),
            (
                "categories = { x = [\"1\", \"2\", \"1\"] }",
                ["categories", "\"1\" twice for x", "once"],
            ),
            ("hashes = { x = 0 }", ["buckets", "0 for x", "1 to"]),
        ] {
            let given = if wrong.starts_with('c') || wrong.starts_with('h') { "" } else { ranges };
            let error = run(&path, &format!("{given}\n{wrong}"), linucb).err().unwrap().to_string();
            assert!(words.iter().all(|word| error.contains(word)), "{words:?}: {error}");
        }
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn words_gaps_and_columns_that_never_change() {
        let linucb = "[[algorithm]]\nkind = \"linucb\"\n";
        let path =
            file("mixed.csv", "x,colour,same,y\n1,red,5,a\n2,blue,5,b\n,green,5,a\n4,,5,b\n");
        let words =
            "categories = { colour = [\"red\", \"green\", \"blue\"] }\nmissing = \"middle\"";
        let experiment = run(&path, words, linucb).unwrap();
        let remarks = experiment.algorithms()[0].remarks().join(" ");
        assert!(remarks.contains("never change were left out: same"), "{remarks}");
        experiment.algorithms()[0].trial(1, 0, &[50]).unwrap();
        // x, three colours and a 1 in two blocks, and the constant.
        let rows = Rows::open(&path).unwrap();
        let (ranges, categories) = (
            BTreeMap::from([("x".to_string(), (0.0, 4.0))]),
            BTreeMap::from([("colour".to_string(), vec!["red".to_string(), "blue".to_string()])]),
        );
        let features = ["x".to_string(), "colour".to_string()];
        let lines = ColumnsToml {
            features: Some(&features),
            ranges: &ranges,
            categories: &categories,
            hashes: &BTreeMap::new(),
            missing: Missing::Middle,
            products: None,
            fourier: None,
        };
        let columns = Columns::new(&rows, &path, lines, &["y"]).unwrap();
        let cells = |text: &str| text.split(',').map(String::from).collect::<Vec<_>>();
        assert_eq!(columns.raw(&cells("1,red,5,a"), 2).unwrap(), [-0.5, 1.0, 0.0]);
        assert_eq!(columns.raw(&cells("9,blue,5,a"), 2).unwrap(), [1.0, 0.0, 1.0]);
        assert_eq!(columns.raw(&cells(",,5,a"), 2).unwrap(), [0.0, 0.0, 0.0]);
        // As core's rule has it.
        assert_eq!(columns.raw(&cells("inf,red,5,a"), 2).unwrap(), [1.0, 1.0, 0.0]);
        assert_eq!(columns.raw(&cells("NaN,red,5,a"), 2).unwrap(), [0.0, 1.0, 0.0]);
        let (words, hashes) = (BTreeMap::new(), BTreeMap::from([("colour".to_string(), 4)]));
        let lines = ColumnsToml { categories: &words, hashes: &hashes, ..lines };
        let columns = Columns::new(&rows, &path, lines, &["y"]).unwrap();
        let encoder = Encoding::Hash { buckets: 4 }.check("colour").unwrap();
        for word in ["red", "blue", "a word that is not listed"] {
            let mut expected = [-0.5, 0.0, 0.0, 0.0, 0.0];
            expected[1 + encoder.encode_text(word).entry.unwrap().0] = 1.0;
            assert_eq!(columns.raw(&cells(&format!("1,{word},5,a")), 2).unwrap(), expected);
        }
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn cells_outside_their_ranges_are_counted_for_the_holder_and_no_certificate_tells() {
        // An index without a name in front, as pandas writes it.
        let path = file("outside.csv", ",x,z,y\n0,1,5,a\n1,20,5,b\n2,-3,6,a\n3,4,99,b\n");
        let given = "features = [\"x\", \"z\"]\nranges = { x = [0, 10], z = [0, 10] }";
        let joint = "[[algorithm]]\nkind = \"joint\"\nprivacy = { epsilon = 1.0, delta = 1e-5 }";
        let experiment = run(&path, given, joint).unwrap();
        let algorithm = experiment.algorithms()[0];
        let remarks = algorithm.remarks().join(" ");
        assert!(remarks.contains("2 of x outside [0, 10], 1 of z outside [0, 10]"), "{remarks}");
        assert!(remarks.contains("for the holder of the data, not covered by the certificate"));
        let guarantee = algorithm.guarantee().unwrap();
        assert!(!format!("{guarantee} {}", guarantee.conditions().join(" ")).contains("outside"));
        let summary = experiment.simulate(|_, _| ()).unwrap();
        assert!(serde_json::to_string(&summary).unwrap().contains("2 of x outside [0, 10]"));
        assert!(summary.notes().join(" ").contains("1 of z outside"));
        let wide = given.replace("10]", "100]").replace("[0,", "[-5,");
        let remarks = run(&path, &wide, joint).unwrap().algorithms()[0].remarks().join(" ");
        assert!(!remarks.contains("outside"), "{remarks}");
        let unnamed = run(&path, "", joint).err().unwrap().to_string();
        assert!(
            unnamed.contains("column 1 has no name") && unnamed.contains("features"),
            "{unnamed}"
        );
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn what_cannot_be_a_bandit_is_named_by_line() {
        let linucb = "[[algorithm]]\nkind = \"linucb\"\n";
        let refuse = |name: &str, text: &str, more: &str, algorithms: &str, words: &[&str]| {
            let path = file(name, text);
            let error = run(&path, more, algorithms).err().unwrap().to_string();
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
            std::fs::remove_file(path).unwrap();
        };
        refuse("a.csv", "x,y\n1,a\nz,b\n", "", linucb, &["line 3", "x is \"z\"", "categories"]);
        refuse("b.csv", "x,y\n1,a\n2,\n", "", linucb, &["line 3", "y is missing"]);
        refuse("c.csv", "x,y\n1,a\n2,a\n", "", linucb, &["1 different values"]);
        refuse("d.csv", "x,y\n1,a\n2\n", "", linucb, &["line 3", "1 cells for 2"]);
        refuse("e.csv", "x,y\n1,a\n2,b\n", "label = \"z\"", linucb, &["no column \"z\""]);
        let many: String = (0..200).map(|i| format!("{i},{i}.5\n")).collect();
        refuse("f.csv", &format!("x,y\n{many}"), "", linucb, &["101 different values or more"]);
        let known = "[[algorithm]]\nkind = \"local\"\nmethod = { known_gram = { reports = 100 } }\nprivacy = { epsilon = 1.0, delta = 1e-5 }";
        refuse("g.csv", "x,y\n1,a\n2,b\n", "", known, &["method is known_gram", "is not known"]);
        refuse("h.csv", "x,y\n1,a\n,b\n", "", linucb, &["line 3", "x is missing", "middle"]);
        let colours = "categories = { x = [\"red\"] }";
        refuse("i.csv", "x,y\nred,a\nblue,b\n", colours, linucb, &["line 3", "x is \"blue\""]);
        let none = "hashes = { x = 0 }";
        refuse("m.csv", "x,y\nred,a\nblue,b\n", none, linucb, &["buckets is 0 for x"]);
        let both = "hashes = { x = 8 }\ncategories = { x = [\"red\"] }";
        refuse("n.csv", "x,y\nred,a\nblue,b\n", both, linucb, &["features is x", "one meaning"]);
        refuse("j.csv", "x,y\n3,a\n3,b\n", "", linucb, &["no feature ever changes: x"]);
        let unknown = "ranges = { z = [0, 1] }";
        refuse("k.csv", "x,y\n1,a\n2,b\n", unknown, linucb, &["ranges is z", "no feature"]);
        let moving = "[environment.modifiers]\nchange_every = 5";
        refuse("l.csv", "x,y\n1,a\n2,b\n", moving, linucb, &["change_every", "as they are"]);
    }
}
