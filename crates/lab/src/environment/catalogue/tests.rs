use super::*;
use crate::{
    Experiment, algorithm::bandit::EnvironmentToml, environment::Environment, play::Learner,
};
use reticent::bandit::Arms;

/// Two features of each side with a cross, a match and a number.
const SMALL: &str = r#"kind = "catalogue"
actions = 6
base = 0.4
effects = { "action.show" = 0.1, "hour*topic" = 0.1, "liked==topic" = 0.2 }
decay = { "context.liked" = 1.0 }
[context]
hour = { cycle = 24, weight = 0 }
liked = { categories = ["news", "sport", "music"], weight = 0 }
[action]
topic = { categories = ["news", "sport", "music"] }
show = { categories = ["a", "b", "c", "d", "e", "f", "g"] }
[cross]
with = [["hour", "topic"]]
match = [["liked", "topic"]]
"#;

fn lines(text: &str) -> CatalogueToml {
    let EnvironmentToml {
        kind: crate::algorithm::bandit::EnvironmentKind::Catalogue(lines), ..
    } = toml::from_str(text).unwrap()
    else {
        panic!("another kind")
    };
    lines
}

fn stock(text: &str, seed: u64) -> Stock {
    Stock::new(Arc::new(lines(text).check().unwrap()), seed).unwrap()
}

/// `observed` successes of `n` with this probability: an alarm above 5.33 standard errors, which is false with probability 1e-7.
fn alarm(observed: f64, n: f64, probability: f64) -> bool {
    (observed - n * probability).abs() > 5.33 * (n * probability * (1.0 - probability)).sqrt()
}

#[test]
fn values_have_their_frequencies() {
    let encoding = Encoding::Categories(["a", "b", "c", "d"].map(String::from).to_vec());
    for decay in [0.0, 1.5] {
        let law = Law::new("word", &encoding, decay);
        let weights: Vec<f64> = (1..=4).map(|i| f64::from(i).powf(-decay)).collect();
        let mut counts = [0.0; 4];
        let mut noise = crate::FastNoise::seeded(5);
        (0..100_000).for_each(|_| counts[law.draw(&mut noise) as usize] += 1.0);
        let share = |i: usize| weights[i] / weights.iter().sum::<f64>();
        assert!((0..4).all(|i| !alarm(counts[i], 1e5, share(i))), "{counts:?}");
        // Planted: frequencies of a neighbouring exponent.
        let other: f64 = (1..=4).map(|i| f64::from(i).powf(-decay - 0.1)).sum();
        assert!(alarm(counts[0], 1e5, 1.0 / other), "{counts:?}");
    }
    for (encoding, count) in [
        (Encoding::Range(-1.0, 1.0), 21),
        (Encoding::Cycle(24.0), 24),
        (Encoding::Bins(vec![0.0, 1.0]), 3),
        (Encoding::Hash { buckets: 8 }, 16),
    ] {
        let law = Law::new("x", &encoding, 0.0);
        assert_eq!(law.count(), count);
        // Each value has coordinates; in bins each has its own.
        let encoder = encoding.check("x").unwrap();
        let record = |place| Law::record(std::slice::from_ref(&law), &[place]);
        let coordinate = |place| encoder.encode(record(place).at("x").unwrap());
        assert!((0..count as u32).all(|place| coordinate(place).entry.is_some()));
        if let Encoding::Bins(_) = encoding {
            assert!((0..count).all(|place| coordinate(place as u32).entry.unwrap().0 == place));
        }
    }
}

/// Rewards are 0 or 1 with the mean that is reported.
#[test]
fn rewards_have_their_means() {
    let mut stock = stock(SMALL, 3);
    let (mut rewards, mut means, mut variance) = (0.0, 0.0, 0.0);
    for round in 0..50_000 {
        stock.arms();
        let arm = round % 6;
        let mean = stock.means()[arm];
        assert!((0.0..=1.0).contains(&mean));
        let reward = stock.reward(arm);
        assert!(reward == 0.0 || reward == 1.0);
        rewards += reward;
        means += mean;
        variance += mean * (1.0 - mean);
    }
    let error = (rewards - means) / f64::sqrt(variance);
    assert!(error.abs() < 5.33, "{error}");
    // Planted: means that are 4 % too large.
    assert!((rewards - 1.04 * means).abs() > 5.33 * variance.sqrt());
}

/// Effects have the sizes of the file: each part's by itself, in the means of the actions.
#[test]
fn effects_have_their_sizes() {
    let plan = lines(SMALL).check().unwrap();
    let laws: Vec<f64> = (0..plan.truth.draws()).map(|i| (i + 1) as f64).collect();
    let mut effects = Vec::new();
    plan.truth.effects(&laws, &mut effects);
    // 2 x 3 cells of hour and topic, 7 shows; the match is its size itself and every other coordinate has no effect.
    assert_eq!(plan.truth.draws(), 13);
    let record = |places: &[u32], laws: &[Law]| Law::record(laws, places);
    // Laws stand in the order of names: hour, liked; show, topic. Hour 0 is (0, 1), word 1 of topic is sport.
    let (context, action) = (record(&[0, 1], &plan.context), record(&[3, 1], &plan.action));
    let [entries] = &plan.truth.entries(&context, &[action])[..] else { panic!("one action") };
    // Parts: shows 1 to 7 come first, then the cells of sine and cosine by topic.
    let (show, cosine) = (0.1 * 4.0, 0.1 * (7.0 + 3.0 + 2.0));
    let effect: f64 = entries.iter().map(|(place, z)| effects[*place as usize] * z).sum();
    assert!((effect - (show + cosine + 0.2)).abs() < 1e-9, "{effect}");
    assert_eq!(plan.truth.mean(entries, &effects), 1.0, "cut off at 1");
    let negative: Vec<f64> = effects.iter().map(|effect| -effect).collect();
    assert_eq!(plan.truth.mean(entries, &negative), 0.0);
}

#[test]
fn arms_are_those_of_the_table_and_follow_from_the_seed() {
    let plan = lines(SMALL).check().unwrap();
    let dimension = plan.features.dimension();
    assert_eq!(dimension, 3 + 7 + 6 + 1 + 1);
    let (mut one, mut same, mut other) = (stock(SMALL, 3), stock(SMALL, 3), stock(SMALL, 4));
    let mut differ = false;
    for round in 0..200 {
        let arms = one.arms().clone();
        assert_eq!((arms.dimension(), arms.count()), (dimension, 6));
        assert_eq!(&arms, same.arms());
        differ |= &arms != other.arms();
        // Another choice changes neither who comes nor what the next earn.
        assert_eq!(one.means(), same.means());
        one.reward(round % 6);
        same.reward(0);
    }
    assert!(differ);
    // Other people of the same population: the same means by context.
    let mut people = stock(SMALL, 3);
    people.other_people(9);
    people.arms();
    assert_eq!((&people.effects, &people.actions), (&one.effects, &one.actions));
    assert!((0..50).any(|_| people.arms() != one.arms()));
}

#[test]
fn the_oldest_action_leaves_and_a_new_one_comes() {
    let text = SMALL.replace("actions = 6", "actions = 6\nreplace_every = 10");
    let (mut changing, mut calm) = (stock(&text, 3), stock(SMALL, 3));
    let show = |stock: &Stock, place: usize| stock.actions[place].at("show").cloned().unwrap();
    for round in 0..30 {
        changing.arms();
        calm.arms();
        // The same people come.
        assert_eq!(changing.context, calm.context);
        for place in 0..6 {
            let replaced = place < round / 10;
            assert_eq!(show(&changing, place) == show(&calm, place), !replaced, "{round} {place}");
        }
    }
    // The seventh show came first, and then the first one again.
    let word = |word: &str| reticent::features::Value::Text(word.into());
    assert_eq!((show(&changing, 0), show(&changing, 1)), (word("g"), word("a")));
    assert_eq!(show(&changing, 2), word("c"));
}

#[test]
fn people_return_with_what_is_theirs() {
    let text = SMALL.replace("actions = 6", "actions = 6\npeople = 20\nper_event = [\"hour\"]");
    let mut stock = stock(&text, 3);
    let mut seen = BTreeMap::new();
    let (mut hours, mut counts) = (std::collections::BTreeSet::new(), vec![0.0; 20]);
    for _ in 0..20_000 {
        stock.arms();
        let person = stock.person().unwrap();
        counts[person as usize] += 1.0;
        hours.insert((person, stock.context[0]));
        let liked = *seen.entry(person).or_insert(stock.context[1]);
        assert_eq!(liked, stock.context[1], "what a person likes stays");
    }
    assert!(counts.iter().all(|count| !alarm(*count, 2e4, 0.05)), "{counts:?}");
    assert_eq!(hours.len(), 20 * 24);
    assert!(seen.values().collect::<std::collections::BTreeSet<_>>().len() > 1);
}

/// theta* jumps and turns by the modifiers of other environments; matches stay.
#[test]
fn effects_move_by_the_modifiers_and_keep_their_norm() {
    let mut stock = stock(SMALL, 3);
    stock.arms();
    let start = stock.direction().unwrap();
    assert!((start.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-12);
    let (before, norm) = (stock.effects.clone(), stock.norm);
    stock.face(&start);
    assert!(stock.effects.iter().zip(&before).all(|(a, b)| (a - b).abs() < 1e-12));
    let turned: Vec<f64> = start.iter().map(|x| -x).collect();
    stock.face(&turned);
    let place = before.iter().position(|effect| *effect == 0.2).expect("the match");
    for (i, (now, before)) in stock.effects.iter().zip(&before).enumerate() {
        let expected = if i == place { *before } else { -before };
        assert!((now - expected).abs() < 1e-12);
    }
    assert!((stock.normals.iter().map(|g| g * g).sum::<f64>().sqrt() - norm).abs() < 1e-9);
}

/// A learner that takes one place.
struct Always(usize);

impl Learner for Always {
    fn choose(&mut self, arms: &Arms, _: u64) -> Result<usize> {
        Ok(self.0.min(arms.count() - 1))
    }

    fn observe(&mut self, _: u64, _: &[f64], _: f64) -> Result<()> {
        Ok(())
    }
}

fn measures(text: &str, arm: usize) -> BTreeMap<&'static str, f64> {
    let environment = BanditEnvironment::new(&toml::from_str(text).unwrap(), 4000).unwrap();
    let trial = environment.trials.run(1, 0, &mut Always(arm), &[1000, 4000]).unwrap();
    trial.measures.into_iter().map(|measure| (measure.what, measure.value)).collect()
}

#[test]
fn measures_say_what_else_could_have_been_earned() {
    let all: Vec<_> = (0..6).map(|arm| measures(SMALL, arm)).collect();
    let of = |what| all.iter().map(|measures| measures[what]).collect::<Vec<f64>>();
    let (means, late) = (of(played::MEAN), of(played::LATE));
    let best = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    for measures in &all {
        assert!((measures[played::FIXED] - best(&means)).abs() < 1e-12);
        assert!((measures[played::FIXED_LATE] - best(&late)).abs() < 1e-12);
        assert!((measures[played::RANDOM] - means.iter().sum::<f64>() / 6.0).abs() < 1e-12);
        assert!(measures[played::ORACLE] > measures[played::FIXED]);
        assert!(measures[played::FIXED] > measures[played::RANDOM] + 0.02);
    }
    // Replaced actions are compared between replacements; absent ones not at all.
    let arrivals = SMALL.replace("actions = 6", "actions = 6\nreplace_every = 500");
    let arrivals = measures(&arrivals, 0);
    assert!(arrivals[played::FIXED] > arrivals[played::RANDOM]);
    assert!(arrivals[played::FIXED] < arrivals[played::ORACLE]);
    let absent = format!("{SMALL}[modifiers]\navailability = 0.5\n");
    assert!(!measures(&absent, 0).contains_key(played::FIXED));
}

fn experiment(environment: &str, algorithms: &str) -> Result<Experiment> {
    let environment = environment.replace("\n[", "\n[environment.");
    Experiment::parse(&format!(
        "name = \"t\"\nrounds = 4000\n[environment]\n{environment}{algorithms}"
    ))
}

#[test]
fn every_trust_model_learns_something() {
    let budget = "privacy = { epsilon = 8.0, delta = 1e-5 }\n";
    let algorithms = format!(
        "[[algorithm]]\nkind = \"linucb\"\n[[algorithm]]\nkind = \"linucb\"\nname = \"seldom\"\nschedule = {{ geometric = {{ first = 16, rate = 0.1 }} }}\n[[algorithm]]\nkind = \"joint\"\n{budget}[[algorithm]]\nkind = \"local\"\n{budget}"
    );
    let modifiers = "[modifiers]\ndelay = { mean = 20.0 }\nlost = 0.1\n";
    for environment in [SMALL.to_string(), format!("{SMALL}{modifiers}")] {
        let found = experiment(&environment, &algorithms).unwrap();
        let rewards: Vec<f64> = found
            .algorithms()
            .iter()
            .map(|algorithm| algorithm.trial(1, 0, &[4000]).unwrap())
            .map(|trial| trial.measures[0].value)
            .collect();
        let random = measures(SMALL, 0)[played::RANDOM];
        assert!(rewards[0] > random + 0.1 && rewards[1] > random + 0.1, "{random} {rewards:?}");
        assert!(rewards[2] > random + 0.03, "{random} {rewards:?}");
        assert!(rewards[3] > random - 0.02, "{random} {rewards:?}");
    }
    let returning = SMALL.replace("actions = 6", "actions = 6\npeople = 400");
    let joint = format!("[[algorithm]]\nkind = \"joint\"\ncontributions_per_person = 5\n{budget}");
    let found = experiment(&returning, &joint).unwrap();
    let algorithm = found.algorithms()[0];
    let conditions = algorithm.guarantee().unwrap().conditions().join(" ");
    assert!(conditions.contains("4000 rounds for 400 here"), "{conditions}");
    let trial = algorithm.trial(1, 0, &[4000]).unwrap();
    let left_out = trial.measures.iter().find(|m| m.what.starts_with("rounds answered")).unwrap();
    assert!(left_out.value > 1500.0);
}

#[test]
fn wrong_keys_are_named() {
    let linucb = "[[algorithm]]\nkind = \"linucb\"\n";
    let refuse = |from: &str, to: &str, words: &str| {
        assert!(SMALL.contains(from));
        let error = experiment(&SMALL.replacen(from, to, 1), linucb).err().unwrap().to_string();
        assert!(error.contains(words), "{error}");
    };
    refuse("actions = 6", "actions = 1", "actions: got 1; with one action there is nothing");
    refuse("base = 0.4", "base = 1.5", "base: got 1.5; expected the mean reward");
    refuse(
        "\"action.show\" = 0.1",
        "\"action.shaw\" = 0.1",
        "effects: got 0.1 for action.shaw; it is no part; expected one of context.hour, context.liked, action.show",
    );
    refuse("\"action.show\" = 0.1", "\"action.show\" = -0.1", "effects: got -0.1 for action.show");
    refuse("\"action.show\" = 0.1", "\"action.show\" = nan", "effects: got NaN for action.show");
    refuse("effects = {", "effects = {} # {", "effects: got 0 for every part; all actions would");
    refuse(
        "\"context.liked\" = 1.0",
        "liked = 1.0",
        "decay: got 1 for liked; it is no feature; expected one of context.hour",
    );
    refuse(
        "\"context.liked\" = 1.0",
        "\"context.liked\" = 11.0",
        "decay: got 11 for context.liked",
    );
    refuse("base = 0.4", "people = 0", "people: got 0");
    refuse("base = 0.4", "replace_every = 0", "replace_every: got 0");
    refuse("base = 0.4", "per_event = [\"hour\"]", "without `people` every round");
    refuse(
        "base = 0.4",
        "people = 3\nper_event = [\"topic\"]",
        "per_event: got \"topic\"; it is no feature of the context; expected some of [hour, liked]",
    );
    refuse("cycle = 24", "cycle = -1", "cycle: got -1");
    refuse(
        "[\"hour\", \"topic\"]",
        "[\"hour\", \"topics\"]",
        "\"topics\" is no feature of the action",
    );
    refuse("actions = 6", "actions = 6\ncolour = 1", "colour");
    let without = SMALL.replace("topic = { categories = [\"news\", \"sport\", \"music\"] }\n", "");
    let without = without
        .lines()
        .take_while(|line| *line != "[cross]")
        .filter(|line| !line.starts_with("show"))
        .collect::<Vec<_>>()
        .join("\n")
        + "\n";
    let error = experiment(
        &without.replace(
            "\"action.show\" = 0.1, \"hour*topic\" = 0.1, \"liked==topic\"",
            "\"context.liked\"",
        ),
        linucb,
    )
    .err()
    .unwrap()
    .to_string();
    assert!(error.contains("action: got {}; actions without features"), "{error}");
    let turning = format!("{SMALL}[modifiers]\nrotate = 0.1\n")
        .replace("\"action.show\" = 0.1, \"hour*topic\" = 0.1, ", "");
    let found = experiment(&turning, linucb).unwrap();
    let error = found.algorithms()[0].trial(1, 0, &[10]).err().unwrap().to_string();
    assert!(error.contains("rotate: got a value; this environment has no theta*"), "{error}");
}
