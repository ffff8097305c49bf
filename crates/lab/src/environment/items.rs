//! `kind = "items"`: items with features, and what people thought of them.
//!
//! Three CSV files, as a product has them:
//!
//! | file | a line is | columns |
//! | --- | --- | --- |
//! | `items` | an item | its name, features |
//! | `ratings` | one person's opinion of one item | the person, the item, the rating |
//! | `people` (optional) | a person | their name, features |
//!
//! Every round a person is drawn. The arms are the items they have rated, so the reward of each is known: the rating. Nothing is made up about
//! items they have not. The features of an arm are
//!
//! ```text
//! (z/|z| / sqrt 2, 1/sqrt 2),    z = (1, person) x (item, 1),  all products of the two
//! ```
//!
//! with every column scaled as in `columns`: arms of the sphere's form, as in `table`.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use reticent::{Error as CoreError, bandit::Arms, error::message, noise::Noise};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{bandit::BanditEnvironment, columns::Missing, modifiers::Modifiers};
use super::{
    bandit::{NOT_COVERED, TrialEnvironment},
    columns::{Columns, ColumnsToml, scale},
    parameters::{Parameters, Shape},
    round_by_round::RoundByRound,
};
use crate::{
    FastNoise, Result,
    csv::{Rows, unusable},
    environment::Environment,
    play::trial::mix,
};

/// Keys of `kind = "items"`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ItemsToml {
    /// The items: a column with their names, all others features unless some are named.
    pub items: PathBuf,
    /// The ratings: a person, an item and a rating a line.
    pub ratings: PathBuf,
    /// The people, if anything is known of them.
    pub people: Option<PathBuf>,
    /// The lowest and the highest rating, publicly known.
    pub rewards: (f64, f64),
    /// The column of item names, in both files.
    #[serde(default = "item")]
    pub item: String,
    /// The column of people's names, in both files.
    #[serde(default = "person")]
    pub person: String,
    /// The column of ratings.
    #[serde(default = "rating")]
    pub rating: String,
    /// The columns of items that are features; all others by default.
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
    /// Treatment of empty cells of features.
    #[serde(default)]
    pub missing: Missing,
    /// Parameters of items: by default `dense`, one vector for the products of what a person and an item are.
    #[serde(default)]
    pub parameters: Option<Parameters>,
}

fn item() -> String {
    "item".into()
}

fn person() -> String {
    "person".into()
}

fn rating() -> String {
    "rating".into()
}

/// Names and their features.
pub(crate) struct Named {
    pub(crate) features: BTreeMap<String, Vec<f64>>,
    pub(crate) columns: Columns,
    pub(crate) hash: u64,
}

impl Named {
    /// Reads a file with a column of names.
    pub(crate) fn read(path: &Path, name: &str, lines: ColumnsToml) -> Result<Self> {
        let mut rows = Rows::open(path)?;
        let place = rows.column(name)?;
        let mut columns = Columns::new(&rows, path, lines, &[name])?;
        while let Some((line, cells)) = rows.next()? {
            columns.widen(&cells, line)?;
        }
        columns.settle()?;
        let mut rows = Rows::open(path)?;
        let mut features = BTreeMap::new();
        while let Some((line, cells)) = rows.next()? {
            let of_line = columns.raw(&cells, line)?;
            if cells[place].is_empty() || features.insert(cells[place].clone(), of_line).is_some() {
                let (field, found) =
                    (format!("line {line}, {name}"), format!("{:?}", cells[place]));
                let remedy = "give every line a name of its own";
                return Err(unusable(path, message(field, found, remedy)));
            }
        }
        Ok(Named { features, columns, hash: rows.hash() })
    }
}

/// The features of an arm: all products of (1, person) and (item, 1), scaled, and the constant.
pub(crate) fn product(person: &[f64], item: &[f64]) -> Vec<f64> {
    let mut z: Vec<f64> = person.iter().flat_map(|p| item.iter().map(move |x| p * x)).collect();
    scale(&mut z);
    z.push(0.5_f64.sqrt());
    z
}

/// Rule that makes an arm of a person and an item.
///
/// ```text
/// dense     all products of (1, person) and (item, 1)
/// per_arm   (1, person), with parameters of the item's own
/// hybrid    (1, person) with parameters of the item's own, then the products, with parameters that all items share
/// ```
///
/// Each is scaled to norm `1/sqrt 2` and followed by the constant; in a hybrid both parts have half of that norm's square.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arm(Parameters);

impl Arm {
    pub(crate) fn of_items(parameters: Option<Parameters>) -> Self {
        Arm(parameters.unwrap_or(Parameters::Dense))
    }

    /// Form of arms, for these numbers of entries in (1, person) and (item, 1).
    pub(crate) fn shape(self, person: usize, item: usize, items: usize) -> Shape {
        let products = person * item + 1;
        let (features, blocks, shared) = match self.0 {
            Parameters::Dense => (products, 1, 1),
            Parameters::PerArm => (person + 1, items, 1),
            Parameters::Hybrid => (person + products, items, products),
        };
        Shape { features, blocks, shared, parameters: self.0 }
    }

    pub(crate) fn features(self, person: &[f64], item: &[f64]) -> Vec<f64> {
        if self.0 == Parameters::Dense {
            return product(person, item);
        }
        let mut own = person.to_vec();
        scale(&mut own);
        if self.0 == Parameters::PerArm {
            own.push(0.5_f64.sqrt());
            return own;
        }
        let mut shared = product(person, item);
        let products = shared.len() - 1;
        own.iter_mut().chain(&mut shared[..products]).for_each(|x| *x *= 0.5_f64.sqrt());
        own.append(&mut shared);
        own
    }
}

/// An item by its place, and its rating.
type Rated = (u32, f64);

/// (1, person), and what they rated.
type Rater = (Vec<f64>, Vec<Rated>);

/// The files, read.
struct Catalogue {
    /// (item, 1) of every item.
    items: Vec<Vec<f64>>,
    people: Vec<Rater>,
    arm: Arm,
    shape: Shape,
}

impl ItemsToml {
    fn columns<'a>(&'a self, features: Option<&'a [String]>) -> ColumnsToml<'a> {
        ColumnsToml {
            features,
            ranges: &self.ranges,
            categories: &self.categories,
            hashes: &self.hashes,
            missing: self.missing,
            products: None,
            fourier: None,
        }
    }

    /// Reads the files; an error names the line and the column.
    pub(crate) fn environment(
        &self,
        rounds: u64,
        modifiers: Modifiers,
    ) -> Result<BanditEnvironment> {
        modifiers.of_a_file()?;
        let (low, high) = self.rewards;
        if !(low < high && low.is_finite() && high.is_finite()) {
            let remedy = "expected the lowest rating first, below the highest";
            return Err(CoreError::invalid("rewards", format!("[{low}, {high}]"), remedy).into());
        }
        let items = Named::read(&self.items, &self.item, self.columns(self.features.as_deref()))?;
        let people = match &self.people {
            Some(path) => Some(Named::read(path, &self.person, self.columns(None))?),
            None => None,
        };
        let known: Vec<&Columns> = [Some(&items), people.as_ref()]
            .into_iter()
            .flatten()
            .map(|file| &file.columns)
            .collect();
        Columns::all_known(&known, self.columns(None))?;
        let mut remarks: Vec<String> = known.iter().flat_map(|columns| columns.remarks()).collect();
        remarks.extend(known.iter().filter_map(|columns| columns.clipped()));
        let (catalogue, ratings, hash) = self.rated(&items, people.as_ref())?;
        let most = catalogue.people.iter().map(|(_, rated)| rated.len()).max().unwrap_or(0);
        remarks.insert(
            0,
            format!(
                "{ratings} ratings of {} items by {} people, of whom one is drawn a round; the arms are what they have rated, {most} at most. Names of items are public; who rated what is covered as part of their features and rewards",
                catalogue.items.len(),
                catalogue.people.len()
            ),
        );
        let mut protected = vec![NOT_COVERED.to_string()];
        let returns = Some(("person", catalogue.people.len()));
        protected.push("names and features of items are public".into());
        protected.extend(known.iter().flat_map(|columns| columns.remarks()));
        let hash = mix(mix(items.hash, hash), people.map_or(0, |people| people.hash));
        let (shape, catalogue) = (catalogue.shape, Arc::new(catalogue));
        let trials = |modifiers| -> Arc<dyn TrialEnvironment> {
            Arc::new(RoundByRound {
                modifiers,
                remarks,
                data_hash: hash,
                headline: Some("mean reward"),
                start: Box::new(move |seed| Ok(Box::new(Shelf::new(catalogue.clone(), seed)?))),
            })
        };
        let rewards = self.rewards;
        let environment = BanditEnvironment::of_a_file(
            shape, most, rewards, rounds, modifiers, protected, trials,
        )?;
        Ok(BanditEnvironment { returns, ..environment })
    }

    /// Ratings, with the person and the item of each.
    fn rated(&self, items: &Named, people: Option<&Named>) -> Result<(Catalogue, u64, u64)> {
        let path: &Path = &self.ratings;
        let (low, high) = self.rewards;
        let mut rows = Rows::open(path)?;
        let mut places = [0; 3];
        for (place, name) in places.iter_mut().zip([&self.person, &self.item, &self.rating]) {
            *place = rows.column(name)?;
        }
        let index: BTreeMap<&String, u32> = items.features.keys().zip(0..).collect();
        let mut rated: BTreeMap<String, Vec<Rated>> = BTreeMap::new();
        let mut count = 0;
        while let Some((line, cells)) = rows.next()? {
            let bad = |field: &str, found: &str, remedy: &str| {
                let field = format!("line {line}, {field}");
                unusable(path, message(field, format!("{found:?}"), remedy))
            };
            let [person, item, rating] = places.map(|place| &cells[place]);
            let Some(&which) = index.get(item) else {
                let remedy = format!(
                    "it is no item: add it to {}, or leave the line out",
                    self.items.display()
                );
                return Err(bad(&self.item, item, &remedy));
            };
            let known = people.is_none_or(|people| people.features.contains_key(person));
            if person.is_empty() || !known {
                let remedy = "nothing is known of this person: add a line to `people`";
                return Err(bad(&self.person, person, remedy));
            }
            let value = rating.parse::<f64>().ok().filter(|value| (low..=high).contains(value));
            let Some(value) = value else {
                let remedy = format!("expected a number from {low} to {high}, or other `rewards`");
                return Err(bad(&self.rating, rating, &remedy));
            };
            let theirs = rated.entry(person.clone()).or_default();
            if theirs.iter().any(|(other, _)| *other == which) {
                let remedy = format!("{person:?} has rated it before: keep one of them");
                return Err(bad(&self.item, item, &remedy));
            }
            theirs.push((which, value));
            count += 1;
        }
        if rated.is_empty() {
            return Err(unusable(
                path,
                message("ratings", "missing", "expected a line for each rating"),
            ));
        }
        let of_person = |name: &String| {
            let features = people.and_then(|people| people.features.get(name));
            std::iter::once(1.0).chain(features.into_iter().flatten().copied()).collect()
        };
        let of_item = |features: &Vec<f64>| features.iter().copied().chain([1.0]).collect();
        let people: Vec<Rater> =
            rated.into_iter().map(|(name, rated)| (of_person(&name), rated)).collect();
        let items: Vec<Vec<f64>> = items.features.values().map(of_item).collect();
        let arm = Arm::of_items(self.parameters);
        let shape = arm.shape(people[0].0.len(), items[0].len(), items.len());
        Ok((Catalogue { items, people, arm, shape }, count, rows.hash()))
    }
}

/// Items that a person is shown.
struct Shelf {
    catalogue: Arc<Catalogue>,
    noise: FastNoise,
    arms: Arms,
    means: Vec<f64>,
    /// The person of the round.
    person: u64,
}

impl Shelf {
    fn new(catalogue: Arc<Catalogue>, seed: u64) -> Result<Self> {
        Ok(Shelf {
            arms: Arms::zeros(catalogue.shape.features, 1)?,
            means: Vec::new(),
            person: 0,
            noise: FastNoise::seeded(seed),
            catalogue,
        })
    }
}

impl Environment for Shelf {
    fn arms(&mut self) -> &Arms {
        let catalogue = &self.catalogue;
        let which = self.noise.below(catalogue.people.len() as u64) as usize;
        self.person = which as u64;
        let (person, rated) = &catalogue.people[which];
        let rows: Vec<Vec<f64>> = rated
            .iter()
            .map(|(item, _)| catalogue.arm.features(person, &catalogue.items[*item as usize]))
            .collect();
        self.arms = Arms::from_rows(catalogue.shape.features, &rows)
            .expect("finite features of the agreed dimension");
        if catalogue.shape.blocks > 1 {
            let blocks: Vec<usize> = rated.iter().map(|(item, _)| *item as usize).collect();
            self.arms.set_blocks(&blocks).expect("a block for each arm");
        }
        self.means = rated.iter().map(|(_, rating)| *rating).collect();
        &self.arms
    }

    fn means(&self) -> &[f64] {
        &self.means
    }

    fn reward(&mut self, arm: usize) -> f64 {
        self.means[arm]
    }

    fn person(&self) -> Option<u64> {
        Some(self.person)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Experiment;

    fn files(name: &str, items: &str, people: &str, ratings: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("reticent-items-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for (name, text) in [("items", items), ("people", people), ("ratings", ratings)] {
            std::fs::write(folder.join(format!("{name}.csv")), text).unwrap();
        }
        folder
    }

    fn experiment(folder: &Path, more: &str, algorithms: &str) -> Result<Experiment> {
        let (items, ratings) = (folder.join("items.csv"), folder.join("ratings.csv"));
        let people = folder.join("people.csv");
        Experiment::parse(&format!(
            "name = \"t\"\nrounds = 4000\n[environment]\nkind = \"items\"\nitems = {items:?}\nratings = {ratings:?}\npeople = {people:?}\nrewards = [1, 5]\n{more}\n{algorithms}"
        ))
    }

    #[test]
    fn taste_is_learnt_from_ratings() {
        // Twelve films, long or short, of two genres; people under forty like short ones, the others long ones.
        let (mut items, mut people) =
            (String::from("item,minutes,genre\n"), String::from("person,age\n"));
        let mut ratings = String::from("person,item,rating\n");
        for i in 0..12 {
            items += &format!("film {i},{},{}\n", 60 + 10 * i, ["drama", "comedy"][i % 2]);
        }
        for p in 0..80_usize {
            let age = 18 + p * 37 % 60;
            people += &format!("p{p},{age}\n");
            for k in 0..4 {
                let i = (p * 5 + k * 3 + p * k) % 12;
                let long = (i as f64 - 5.5) / 5.5;
                let taste = if age < 40 { -long } else { long };
                ratings += &format!("p{p},film {i},{}\n", 3.0 + 2.0 * taste);
            }
        }
        // The same film twice for one person is refused: leave such lines out.
        let mut seen = std::collections::BTreeSet::new();
        let ratings: String = ratings
            .lines()
            .filter(|line| seen.insert(line.rsplit_once(',').unwrap().0.to_string()))
            .map(|line| format!("{line}\n"))
            .collect();
        let folder = files("taste", &items, &people, &ratings);
        let more = "categories = { genre = [\"drama\", \"comedy\"] }\nranges = { minutes = [60, 170], age = [18, 80] }";
        let algorithms = "[[algorithm]]\nkind = \"linucb\"\n[[algorithm]]\nkind = \"joint\"\nprivacy = { epsilon = 4.0, delta = 1e-5 }\n\
            [[algorithm]]\nkind = \"local\"\nprivacy = { epsilon = 8.0, delta = 1e-5 }\n";
        let found = experiment(&folder, more, algorithms).unwrap();
        let regrets: Vec<f64> = found
            .algorithms()
            .iter()
            .map(|algorithm| algorithm.trial(1, 0, &[4000]).unwrap().curve[0].regret)
            .collect();
        // Any item of the few that a person has rated loses about 1 on average.
        assert!(regrets[0] < 900.0, "{regrets:?}");
        assert!(regrets[0] < regrets[1] && regrets[1] < 4000.0, "{regrets:?}");
        assert!(found.algorithms()[0].remarks().join(" ").contains("12 items by 80 people"));
        // Published constants are for rewards in [0, 1].
        let paper = "[[algorithm]]\nkind = \"ldp_linucb\"\nmode = \"paper\"\nprivacy = { epsilon = 1.0, delta = 1e-5 }";
        let error = experiment(&folder, more, paper).err().unwrap().to_string();
        assert!(error.contains("mode") && error.contains("rewards in [0, 1]"), "{error}");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_does_not_fit_together_is_named_by_line() {
        let linucb = "[[algorithm]]\nkind = \"linucb\"";
        let refuse = |name: &str, items: &str, people: &str, ratings: &str, words: &[&str]| {
            let folder = files(
                name,
                &format!("item,size\na,1\nb,2\n{items}"),
                &format!("person,age\np,20\nq,30\n{people}"),
                &format!("person,item,rating\np,a,1\np,b,5\nq,a,3\n{ratings}"),
            );
            let error = experiment(&folder, "", linucb).map(|_| ()).unwrap_err().to_string();
            assert!(words.iter().all(|word| error.contains(word)), "{error}");
            std::fs::remove_dir_all(folder).unwrap();
        };
        refuse("a", "", "", "q,z,3\n", &["ratings.csv", "line 5", "item: got \"z\""]);
        refuse("b", "", "", "r,a,3\n", &["ratings.csv", "line 5", "person: got \"r\""]);
        refuse(
            "c",
            "",
            "",
            "q,b,6\n",
            &["ratings.csv", "line 5", "rating: got \"6\"", "from 1 to 5"],
        );
        refuse("d", "", "", "q,a,2\n", &["ratings.csv", "line 5", "before"]);
        refuse("e", "a,3\n", "", "", &["items.csv", "line 4", "name of its own"]);
        refuse("f", "c,x\n", "", "", &["items.csv", "line 4", "size: got \"x\""]);
        refuse("g", "", "r,\n", "", &["people.csv", "line 4", "age: missing"]);
    }
}
