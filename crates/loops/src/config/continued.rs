//! A later file of a central loop, over the coordinates that its present generation has had.
//!
//! A file in which only lists of words have changed continues the generation: appended words are free coordinates (the lemma of
//! `release/append.rs` in the core), and removed words keep theirs, unused (`features/continued.rs`). The generation keeps its hash, weights, noise,
//! ledger and model. Everything else begins a new generation.
//!
//! The store notes the features that the generation began with and the words that were appended, beside the file's parameters. A coordinate that
//! was appended is never taken away, so that each layout has more coordinates than those before it: stored states and events of any layout are known by their
//! length, and are padded with zeros when they are used. So nothing is rewritten when a file changes: the next step commits the longer state with its
//! release.
//!
//! **Local loops.** A device's report has noise in every coordinate, and a longer vector is another protocol: with reports, another list begins another
//! generation.

use std::collections::BTreeMap;

use reticent::{
    features::{Encoding, FeaturesParams, FeaturesPlan},
    hash,
};
use serde::{Deserialize, Serialize};

use super::{CentralPlan, LoopParams};
use crate::{Error, Result, learner::CentralLearner, time::Time};

/// Words that were appended to the lists of a generation since it began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Continuation {
    /// Features that the generation began with.
    began: FeaturesParams,
    /// Appended words, the earliest first.
    appended: Vec<Appended>,
}

/// Words of one change of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Appended {
    /// Time of the start with the changed file.
    pub time: Time,
    /// New words by feature, such as `action.topic`.
    pub words: BTreeMap<String, Vec<String>>,
}

/// The generation that a plan continues.
#[derive(Debug, Clone)]
pub(super) struct Continued {
    /// The hash that it began with.
    pub(super) params_hash: u64,
    /// Features since it began, the present ones last.
    layouts: Vec<FeaturesPlan>,
}

impl Continuation {
    /// Features since the generation began.
    fn layouts(&self) -> Result<Vec<FeaturesPlan>> {
        let mut layouts = vec![self.began.check()?];
        for appended in &self.appended {
            let last = layouts.last().expect("one at least");
            let mut params = last.params().clone();
            for (name, words) in &appended.words {
                let (side, name) = name.split_once('.').unwrap_or_default();
                let features =
                    if side == "context" { &mut params.context } else { &mut params.action };
                if let Some(Encoding::Categories(mut listed)) = features.get(name).cloned() {
                    listed.extend(words.iter().cloned());
                    features.insert(name.to_string(), Encoding::Categories(listed));
                }
            }
            layouts.push(last.continued(&params)?);
        }
        Ok(layouts)
    }

    /// The hash of the rule from records to vectors, which has the weights that the generation began with.
    pub(super) fn features_hash(&self) -> u64 {
        let words: Vec<_> = self.appended.iter().map(|appended| &appended.words).collect();
        hash::of_params("features continued 1", &(&self.began, words))
    }
}

impl LoopParams {
    /// Words that were appended since the generation began, the earliest change first.
    pub fn appended(&self) -> &[Appended] {
        self.continuation.as_ref().map_or(&[], |continuation| &continuation.appended)
    }

    /// Features of a stored generation since it began, with the weights that it began with.
    fn layouts(&self) -> Result<Vec<FeaturesPlan>> {
        match &self.continuation {
            Some(continuation) => continuation.layouts(),
            None => Ok(vec![self.features()?.check()?]),
        }
    }

    /// The newest features of a stored generation.
    pub(super) fn newest_features(&self) -> Result<FeaturesPlan> {
        Ok(self.layouts()?.pop().expect("one at least"))
    }

    /// Those over which a stored learner of this dimension learns.
    pub(super) fn features_of(&self, dimension: usize) -> Result<FeaturesPlan> {
        let compares = usize::from(self.compares());
        let mut layouts = self.layouts()?.into_iter();
        let found = layouts.find(|layout| layout.dimension() + compares == dimension);
        found.ok_or_else(|| Error::store(never_had(dimension)))
    }

    /// The parameters as a store notes them: a file says neither what its generation began with nor which words came later.
    pub(super) fn noting(mut self, stored: &LoopParams) -> Self {
        self.continuation.clone_from(&stored.continuation);
        if self.warm_start.is_none() && stored.warm_start.is_none() {
            self.warm_start_origin.clone_from(&stored.warm_start_origin);
        }
        self
    }
}

fn never_had(dimension: usize) -> String {
    format!("a vector of {dimension} coordinates, which the loop never had: restore another copy")
}

impl CentralPlan {
    /// This plan over the coordinates of a stored generation with these parameters and this hash, if the file continues it: its own hash is the same, or only
    /// lists of words differ. None if the file begins a new generation.
    pub fn continuing_generation(
        &self,
        stored: &LoopParams,
        params_hash: u64,
        now: Time,
    ) -> Option<Self> {
        if self.params_hash() == params_hash && stored.continuation.is_none() {
            let params = self.params.clone().noting(stored);
            return Some(CentralPlan { params, ..self.clone() });
        }
        self.appending(stored, params_hash, now).ok()
    }

    /// The same, or the reason for which it begins a new generation.
    fn appending(&self, stored: &LoopParams, params_hash: u64, now: Time) -> Result<Self> {
        if self.params.has_fixed_actions() {
            let remedy = "expected the same words, of which the fixed actions are made";
            return Err(Error::invalid("features", "other words", remedy));
        }
        let mut params = self.params.clone().noting(stored);
        let mut continuation = match &stored.continuation {
            Some(continuation) => continuation.clone(),
            None => Continuation { began: stored.features()?, appended: Vec::new() },
        };
        let mut layouts = continuation.layouts()?;
        // The same file with the lists that the generation began with is that generation, whatever else the hash covers.
        let origin = self.with_features(params.clone(), layouts[0].clone())?;
        if origin.params_hash() != params_hash {
            let remedy = "expected a file that differs in lists of words only";
            return Err(Error::invalid("generation", format!("{params_hash:016x}"), remedy));
        }
        let last = layouts.last().expect("one at least");
        let present = last.continued(&self.params.features()?)?;
        let words = present.words_after(last);
        let appends = !words.is_empty();
        let before = self.with_features(params.clone(), last.clone())?;
        if appends {
            continuation.appended.push(Appended { time: now, words: words.into_iter().collect() });
            layouts.push(present.clone());
        }
        params.continuation = Some(continuation);
        let mut plan = self.with_features(params, present)?;
        plan.continued = Some(Continued { params_hash, layouts });
        // What a stream cannot append, such as a second coordinate, begins a new generation.
        plan.grown(before.begin()?)?;
        Ok(plan)
    }

    /// The same loop with these parameters over these features.
    fn with_features(&self, params: LoopParams, features: FeaturesPlan) -> Result<Self> {
        let mut plan = params.check_central_over(&self.name, features, self.warm_start.clone())?;
        plan.params = params;
        Ok(plan)
    }

    /// The plan that the generation of these stored parameters began with.
    pub fn as_it_began(&self) -> Result<Self> {
        match &self.params.continuation {
            None => Ok(self.clone()),
            Some(continuation) => {
                self.with_features(self.params.clone(), continuation.began.check()?)
            }
        }
    }

    /// Places of the coordinates among those of an earlier vector with this length; none if it has the present ones.
    pub fn places(&self, dimension: usize) -> Result<Option<Vec<Option<usize>>>> {
        let present = self.learner_params.bounds.dimension;
        if dimension == present {
            return Ok(None);
        }
        if dimension > present {
            return Err(Error::Unavailable(
                "another process has appended words to a list of this loop: give this one the same file and start it again".into(),
            ));
        }
        let compares = usize::from(self.params.compares());
        let layouts = self.continued.as_ref().map_or(&[][..], |continued| &continued.layouts);
        let earlier = layouts.iter().find(|layout| layout.dimension() + compares == dimension);
        let earlier = earlier.ok_or_else(|| Error::store(never_had(dimension)))?;
        let mut places = self.features.places_in(earlier);
        if compares == 1 {
            places.push(Some(dimension - 1));
        }
        Ok(Some(places))
    }

    /// A learner of this generation, with the words that were appended since its last release.
    pub fn grown(&self, mut learner: CentralLearner) -> Result<CentralLearner> {
        if let CentralLearner::Sums(curator) = &mut learner
            && let Some(places) = self.places(curator.params().bounds.dimension)?
        {
            curator.append(&places, self.learner_params.rule.clone())?;
        }
        Ok(learner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ServiceFile;

    const LOOP: &str = r#"
        [loop.home]
        privacy = { epsilon = 1.0, delta = 1e-6, visits = 1, per = "1 day" }
        reward = { range = [0, 1], window = "2 minutes" }
        [loop.home.context]
        age = { range = [18, 80] }
        device = { categories = ["phone", "computer"] }
        [loop.home.action]
        topic = { categories = ["news", "sport"] }
        [loop.home.cross]
        with = [["device", "topic"]]
    "#;

    fn plan(from: &str, to: &str) -> CentralPlan {
        let text = LOOP.replace(from, to);
        assert!(from == to || text != LOOP, "{from} is not in the file");
        let plans = ServiceFile::parse(&text).unwrap().check().unwrap();
        plans[0].central().unwrap().as_ref().clone()
    }

    /// Stored parameters and hash of a plan.
    fn stored(plan: &CentralPlan) -> (LoopParams, u64) {
        let bytes = serde_json::to_vec(&plan.params).unwrap();
        (serde_json::from_slice(&bytes).unwrap(), plan.params_hash())
    }

    fn continuing_generation(from: &str, to: &str) -> Option<CentralPlan> {
        let (params, hash) = stored(&plan("", ""));
        plan(from, to).continuing_generation(&params, hash, 7)
    }

    #[test]
    fn only_lists_of_words_continue_a_generation() {
        let began = plan("", "");
        for (from, to, dimension) in [
            ("", "", 10),
            ("[\"news\", \"sport\"]", "[\"jazz\", \"news\", \"sport\"]", 13),
            ("[\"phone\", \"computer\"]", "[\"tablet\"]", 13),
            ("[\"news\", \"sport\"]", "[\"sport\", \"news\"]", 10),
            ("[\"news\", \"sport\"]", "[\"news\"]", 10),
            ("1 day", "24 hours", 10),
        ] {
            let later = continuing_generation(from, to).expect(to);
            assert_eq!(
                (later.params_hash(), later.features.dimension()),
                (began.params_hash(), dimension),
                "{to}"
            );
            let weights = |plan: &CentralPlan| -> Vec<f64> {
                plan.features.parts().iter().map(|part| part.weight).collect()
            };
            assert_eq!(
                (weights(&later), later.features.constant()),
                (weights(&began), began.features.constant())
            );
            let places = later.places(10).unwrap();
            assert_eq!(places.is_none(), dimension == 10);
            assert!(later.places(11).is_err() && later.places(20).is_err());
            assert_eq!(places.map_or(10, |places| places.iter().flatten().count()), 10);
        }
        for (from, to) in [
            ("[18, 80]", "[18, 90]"),
            ("[0, 1]", "[0, 2]"),
            ("epsilon = 1.0", "epsilon = 2.0"),
            ("2 minutes", "3 minutes"),
            ("with = [[\"device\", \"topic\"]]", ""),
            ("age = { range = [18, 80] }", ""),
            ("[loop.home.action]", "[loop.home.action]\nlength = { range = [0, 9] }"),
            ("range = [18, 80]", "range = [18, 80], weight = 0.1"),
            ("categories = [\"news\", \"sport\"]", "hash = { buckets = 2 }"),
        ] {
            assert!(continuing_generation(from, to).is_none(), "{to}");
        }
        // One coordinate has a smaller distance than two.
        let line = |words: &str| {
            let text = format!(
                "[loop.home]\nprivacy = {{ epsilon = 1.0, delta = 1e-6 }}\nweight.constant = 0\naction.topic.categories = [{words}]"
            );
            let plans = ServiceFile::parse(&text).unwrap().check().unwrap();
            plans[0].central().unwrap().as_ref().clone()
        };
        let (params, hash) = stored(&line("\"news\""));
        assert!(line("\"news\", \"sport\"").continuing_generation(&params, hash, 7).is_none());
        // A generation with another hash than these parameters have.
        let (params, _) = stored(&began);
        assert!(
            plan("\"sport\"", "\"sport\", \"jazz\"").continuing_generation(&params, 1, 7).is_none()
        );
    }

    #[test]
    fn steps_are_noted_and_words_keep_their_coordinates() {
        let (mut params, hash) = stored(&plan("", ""));
        let mut last = None;
        for (time, words) in
            [(1, "\"jazz\", \"news\""), (2, "\"film\", \"sport\""), (3, "\"sport\", \"jazz\"")]
        {
            let later = plan("\"news\", \"sport\"", words)
                .continuing_generation(&params, hash, time)
                .unwrap();
            (params, _) = stored(&later);
            last = Some(later);
        }
        let later = last.unwrap();
        let times: Vec<Time> =
            later.params.appended().iter().map(|appended| appended.time).collect();
        assert_eq!(times, [1, 2]);
        let names = later.features.names();
        assert_eq!(
            names[3..7],
            ["action.topic=news", "action.topic=sport", "action.topic=jazz", "action.topic=film"]
        );
        // Of every layout: with one word, and with two.
        for dimension in [10, 13] {
            let places = later.places(dimension).unwrap().unwrap();
            assert_eq!(places.iter().flatten().count(), dimension);
            assert_eq!((places[3], places[4], places[6]), (Some(3), Some(4), None));
        }
        assert!(later.places(16).unwrap().is_none());
        let began = later.as_it_began().unwrap();
        assert_eq!((began.params_hash(), began.features.dimension()), (hash, 10));
    }

    /// Stores have this form of the note for ever.
    #[test]
    fn a_note_stays_readable() {
        let noted = r#"{
            "privacy": {"epsilon": 1.0, "delta": 1e-6, "visits": 1, "per": "1 day", "unit": null},
            "reward": {"range": [0.0, 1.0], "window": "2 minutes", "default": null, "combine": "first"},
            "context": null, "action": {"topic": {"categories": ["jazz"]}}, "cross": null, "projection": null,
            "continuation": {
                "began": {"context": {}, "action": {"topic": {"categories": ["news", "sport"]}}, "cross": {"with": []}, "constant": true, "projection": null},
                "appended": [{"time": 17, "words": {"action.topic": ["jazz", "film"]}}]
            }
        }"#;
        let params: LoopParams = serde_json::from_str(noted).unwrap();
        let continuation = params.continuation.clone().unwrap();
        let names: Vec<Vec<String>> =
            continuation.layouts().unwrap().iter().map(FeaturesPlan::names).collect();
        assert_eq!(
            (names[0].len(), &names[1][2..4]),
            (3, &["action.topic=jazz".to_string(), "action.topic=film".into()][..])
        );
        let again = serde_json::to_value(&params).unwrap()["continuation"].clone();
        let wanted: serde_json::Value = serde_json::from_str(noted).unwrap();
        assert_eq!(again, wanted["continuation"]);
    }
}
