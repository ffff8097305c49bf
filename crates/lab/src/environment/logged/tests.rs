use reticent::{bandit::Arms, noise::Noise};

use super::*;
use crate::{
    Experiment, FastNoise,
    algorithm::RunnableAlgorithm,
    play::{Learner, trial::Trial},
};

fn file(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("reticent-log-{}-{name}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

/// Two features in [-1, 1], three actions, rewards 0 and 1; the log takes the actions with probability 1/2, 3/10 and 1/5.
fn mean(u: f64, v: f64, action: usize) -> f64 {
    [0.5 + 0.4 * u, 0.5 - 0.4 * u, 0.5 + 0.4 * v][action]
}

fn log(lines: u64, seed: u64) -> String {
    let mut noise = FastNoise::seeded(seed);
    let mut text = String::from("u,v,action,propensity,reward\n");
    for _ in 0..lines {
        let (u, v) = (2.0 * noise.uniform() - 1.0, 2.0 * noise.uniform() - 1.0);
        let coin = noise.uniform();
        let action = usize::from(coin >= 0.5) + usize::from(coin >= 0.8);
        let reward = u8::from(noise.uniform() < mean(u, v, action));
        let propensity = [0.5, 0.3, 0.2][action];
        text += &format!("{u},{v},{},{propensity},{reward}\n", ["a", "b", "c"][action]);
    }
    text
}

fn experiment(path: &Path, rounds: u64, more: &str, algorithms: &str) -> Result<Experiment> {
    Experiment::parse(&format!(
        "name = \"t\"\nrounds = {rounds}\n[environment]\nkind = \"logged\"\nfile = {path:?}\n{more}\n{algorithms}"
    ))
}

const PUBLIC: &str = "ranges = { u = [-1, 1], v = [-1, 1] }\nactions = [\"a\", \"b\", \"c\"]\nleast_propensity = 0.2";

fn measure(trial: &Trial, what: &str) -> f64 {
    trial.measures.iter().find(|measure| measure.what == what).unwrap().value
}

/// Always takes the best action: what it earns is known, E max(1/2 + 0.4 |u|, 1/2 + 0.4 v).
struct Best;

impl Learner for Best {
    fn choose(&mut self, arms: &Arms, _: u64) -> Result<usize> {
        // x = (u, v, 1)/|x|: the sign of u, and whether v is larger than |u|.
        let x = arms.arm(0);
        Ok(if x[1] > x[0].abs() { 2 } else { usize::from(x[0] < 0.0) })
    }

    fn observe(&mut self, _: u64, _: &[f64], _: f64) -> Result<()> {
        Ok(())
    }
}

#[test]
fn a_policy_of_known_value_is_given_that_value() {
    let path = file("known.csv", &log(30_000, 3));
    let linucb = "[[algorithm]]\nkind = \"linucb\"";
    experiment(&path, 10_000, PUBLIC, linucb).unwrap();
    let lines: LoggedToml = toml::from_str(&format!("file = {path:?}\n{PUBLIC}")).unwrap();
    let environment = lines.environment(10_000, Modifiers::default()).unwrap();
    let trial = environment.trials.run(1, 0, &mut Best, &[100, 10_000]).unwrap();
    // E max(|u|, v) for uniform |u| in [0, 1] and v in [-1, 1]: 1/2 (1/2) + 1/2 (2/3) = 7/12.
    let truth = 0.5 + 0.4 * 7.0 / 12.0;
    for what in ["IPS value", "self-normalised value", "doubly robust value"] {
        let [value, low, high] =
            ["", ", 95 % low", ", 95 % high"].map(|end| measure(&trial, &format!("{what}{end}")));
        // Twice an end is 5.4 standard errors: a false alarm of 1e-7 each.
        assert!((value - truth).abs() < high - low, "{what}: {value} {truth}");
        assert!(low < truth && truth < high && high - low < 0.06, "{what}: {low} {high}");
    }
    // Every training line is learnt from, and judged before: five deviations of what a weight of 5 at most leaves.
    assert_eq!(measure(&trial, "lines learnt from"), 1e4);
    let progressive = 1.0 - trial.curve[1].regret / 1e4;
    assert!((progressive - truth).abs() < 0.05, "{progressive}");
    assert_eq!(measure(&trial, "largest weight"), 5.0);
    assert_eq!(measure(&trial, "choices without support"), 0.0);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn private_learners_are_trained_and_judged_offline() {
    let path = file("learn.csv", &log(30_000, 4));
    let algorithms = "[[algorithm]]\nkind = \"linucb\"\n[[algorithm]]\nkind = \"joint\"\nprivacy = { epsilon = 4.0, delta = 1e-5 }\n\
        [[algorithm]]\nkind = \"local\"\nprivacy = { epsilon = 8.0, delta = 1e-5 }\n[[algorithm]]\nkind = \"shuffle\"\nprivacy = { epsilon = 4.0, delta = 1e-5 }\n\
        [[algorithm]]\nkind = \"online_ucb\"\nprivacy = { epsilon = 8.0, delta = 1e-5 }\n";
    let experiment = experiment(&path, 20_000, PUBLIC, algorithms).unwrap();
    let algorithms = experiment.algorithms();
    let run = |algorithm: &dyn RunnableAlgorithm| algorithm.trial(1, 0, &[10, 20_000]).unwrap();
    let all: Vec<Trial> = algorithms.iter().map(|algorithm| run(*algorithm)).collect();
    // A random policy earns 1/2; the best earns 0.733.
    assert!(measure(&all[0], "IPS value, 95 % low") > 0.62, "{:?}", all[0].measures);
    assert!(measure(&all[1], "IPS value, 95 % low") > 0.5, "{:?}", all[1].measures);
    for (trial, algorithm) in all.iter().zip(&algorithms) {
        assert_eq!(trial.curve, run(*algorithm).curve, "{}", algorithm.name());
        assert_eq!(trial.curve.len(), 2);
        let conditions = algorithm.guarantee().map(|g| g.conditions().join(" "));
        if let Some(conditions) = conditions {
            assert!(conditions.contains("first 20000 lines is one contribution"), "{conditions}");
            assert!(conditions.contains("not covered"), "{conditions}");
        }
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_log_is_not_judged_with_a_window() {
    let path = file("window.csv", &log(100, 4));
    let windowed =
        "[[algorithm]]\nkind = \"joint\"\nwindow = 5\nprivacy = { epsilon = 4.0, delta = 1e-5 }\n";
    let error = experiment(&path, 50, PUBLIC, windowed).err().unwrap().to_string();
    assert!(error.contains("window") && error.contains("asked about twice"), "{error}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn what_is_no_log_is_named_by_line() {
    let linucb = "[[algorithm]]\nkind = \"linucb\"";
    let head = "u,action,propensity,reward\n0.1,a,0.5,1\n0.2,b,0.5,0\n0.3,a,0.5,0\n0.4,b,0.5,1\n";
    let refuse = |name: &str, line: &str, more: &str, words: &[&str]| {
        let path = file(name, &format!("{head}{line}\n"));
        let error = experiment(&path, 2, more, linucb).err().unwrap().to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
        std::fs::remove_file(path).unwrap();
    };
    refuse("a.csv", "0.5,a,0,1", "", &["line 6", "propensity: got \"0\"", "above 0"]);
    refuse("b.csv", "0.5,a,1.5,1", "", &["line 6", "propensity: got \"1.5\""]);
    refuse("c.csv", "0.5,a,NaN,1", "", &["line 6", "propensity: got \"NaN\""]);
    refuse("d.csv", "0.5,c,0.5,1", "actions = [\"a\", \"b\"]", &["line 6", "action: got \"c\""]);
    refuse("e.csv", "0.5,,0.5,1", "", &["line 6", "action: missing"]);
    refuse("f.csv", "0.5,a,0.5,2", "", &["line 6", "reward: got \"2\"", "from 0 to 1"]);
    refuse("g.csv", "x,a,0.5,1", "", &["line 6", "u: got \"x\""]);
    refuse(
        "h.csv",
        "0.5,a,0.1,1",
        "least_propensity = 0.2",
        &["line 6", "at least least_propensity"],
    );
    refuse("i.csv", "0.5,a,0.5,1", "reward = \"score\"", &["column: got \"score\""]);
    refuse("j.csv", "0.5,a,0.5,1", "[environment.modifiers]\nlost = 0.1", &["modifiers"]);
    let path = file("k.csv", head);
    let error = experiment(&path, 3, "", linucb).err().unwrap().to_string();
    assert!(error.contains("rounds: got 3") && error.contains("expected at most 2"), "{error}");
    // Support and small propensities are remarked on.
    std::fs::write(&path, format!("{head}0.5,a,0.001,1\n")).unwrap();
    let more = "actions = [\"a\", \"b\", \"z\"]";
    let remarks = experiment(&path, 2, more, linucb).unwrap().algorithms()[0].remarks().join(" ");
    assert!(remarks.contains("NO SUPPORT: the log never takes z"), "{remarks}");
    assert!(remarks.contains("1 propensities are below 0.01"), "{remarks}");
    std::fs::remove_file(path).unwrap();
}

/// A learner that counts its arms and its lines.
struct Seen {
    arms: usize,
    learnt: Vec<(u64, f64)>,
}

impl Learner for Seen {
    fn choose(&mut self, arms: &Arms, _: u64) -> Result<usize> {
        self.arms = arms.count();
        Ok(0)
    }

    fn observe(&mut self, round: u64, _: &[f64], reward: f64) -> Result<()> {
        assert_eq!(self.arms, 1, "the logged action only");
        self.learnt.push((round, reward));
        Ok(())
    }
}

fn opened(text: &str, rounds: u64) -> Result<BanditEnvironment> {
    toml::from_str::<LoggedToml>(text).unwrap().environment(rounds, Modifiers::default())
}

#[test]
fn every_training_line_is_learnt_from_however_small_its_propensity() {
    // Propensities down to 4.5e-5, clicks at 1 in 20: replay with a coin of the least propensity would see no line at all.
    let mut text = String::from("u,action,propensity,reward\n");
    for i in 0..300_u32 {
        let (action, p) = if i % 100 == 7 { ("b", 4.5e-5) } else { ("a", 0.99) };
        text += &format!("{},{action},{p},{}\n", f64::from(i % 7), u8::from(i % 20 == 0));
    }
    let path = file("rare.csv", &text);
    let environment = opened(&format!("file = {path:?}"), 200).unwrap();
    let mut seen = Seen { arms: 0, learnt: Vec::new() };
    let trial = environment.trials.run(1, 0, &mut seen, &[200]).unwrap();
    let expected: Vec<(u64, f64)> =
        (0..200).map(|i| (i + 1, f64::from(u8::from(i % 20 == 0)))).collect();
    assert_eq!(seen.learnt, expected);
    // Always the first action: 99 of 100 lines agree, with 5 clicks.
    assert!((measure(&trial, "self-normalised value") - 5.0 / 99.0).abs() < 1e-12);
    assert!(measure(&trial, "self-normalised value, 95 % low") >= 0.0);
    assert!(measure(&trial, "self-normalised value, 95 % high") > 0.1);
    // Always the second one: a single line of weight 22222, and no interval; clipped, it still is a single line.
    let second = &mut |arms: &Arms, _: u64| arms.count() - 1;
    for (more, largest) in [("", 1.0 / 4.5e-5), ("\nclip_weights = 10", 10.0)] {
        let environment = opened(&format!("file = {path:?}{more}"), 200).unwrap();
        let trial = environment.trials.run(1, 0, second, &[200]).unwrap();
        assert!((measure(&trial, "largest weight") - largest).abs() < 1e-9);
        assert!(measure(&trial, "IPS value, 95 % high").is_nan());
    }
    let clipped = opened(&format!("file = {path:?}\nclip_weights = 10"), 200).unwrap();
    assert!(clipped.trials.remarks().join(" ").contains("hold for what the policy earns"));
    let error = opened(&format!("file = {path:?}\nclip_weights = 0.5"), 200).err().unwrap();
    assert!(error.to_string().contains("clip_weights: got 0.5"), "{error}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn too_little_to_judge_by_is_said_and_given_no_interval() {
    let mut text = String::from("u,action,propensity,reward\n");
    for i in 0..200_u32 {
        // "b" is taken, and pays, only while training.
        let (action, reward) = if i < 100 && i % 2 == 0 { ("b", 1) } else { ("a", 0) };
        text += &format!("{},{action},0.5,{reward}\n", f64::from(i % 7));
    }
    let path = file("none.csv", &text);
    let found = experiment(&path, 100, "", "[[algorithm]]\nkind = \"linucb\"").unwrap();
    let summary = found.simulate(|_, _| ()).unwrap();
    let warnings = summary.warnings().join(" ");
    assert!(warnings.contains("NOTHING WAS LEARNT"), "{warnings}");
    let (header, rows) = summary.table();
    assert_eq!(&header[1..4], ["doubly robust value", "95 % interval", "effective n"]);
    assert_eq!((rows[0][2].as_str(), rows[0][3].as_str()), ("-", "0"));
    let details = format!("{:?}", summary.details());
    assert!(details.contains("unknown, no interval"), "{details}");
    assert!(!details.contains("from 0 to 0\""), "{details}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn items_have_features_of_their_own() {
    // 150 items, more than blocks are made for; a click depends on the item's length and the reader's age.
    let mut noise = FastNoise::seeded(9);
    let (mut items, mut text) =
        (String::from("item,long\n"), String::from("age,action,propensity,reward\n"));
    let long = |item: u64| item as f64 / 74.5 - 1.0;
    (0..150).for_each(|item| items += &format!("i{item},{}\n", long(item)));
    for _ in 0..9000 {
        let (age, item) = (2.0 * noise.uniform() - 1.0, noise.below(150));
        let clicked = noise.uniform() < 0.5 + 0.4 * age * long(item);
        text += &format!("{age},i{item},{},{}\n", 1.0 / 150.0, u8::from(clicked));
    }
    let (path, items) = (file("clicks.csv", &text), file("items.csv", &items));
    let more = format!(
        "items = {items:?}\nleast_propensity = 0.006\nranges = {{ age = [-1, 1], long = [-1, 1] }}"
    );
    let found = experiment(&path, 6000, &more, "[[algorithm]]\nkind = \"linucb\"").unwrap();
    let trial = found.algorithms()[0].trial(1, 0, &[6000]).unwrap();
    // At random 1/2; the best item for every reader earns 1/2 + 0.4 E|age| = 0.7. Twenty lines agree with any policy.
    assert!(measure(&trial, "doubly robust value") > 0.6, "{:?}", trial.measures);
    // An item without a line, and a log of items without contexts.
    let refuse = |text: &str, more: &str, words: &[&str]| {
        std::fs::write(&path, text).unwrap();
        let more = format!("items = {items:?}\n{more}");
        let error = experiment(&path, 2, &more, "[[algorithm]]\nkind = \"linucb\"").err().unwrap();
        assert!(words.iter().all(|word| error.to_string().contains(word)), "{error}");
    };
    let head = "action,propensity,reward\ni1,0.5,1\ni2,0.5,0\ni1,0.5,1\ni3,0.5,0\n";
    refuse(&format!("{head}x,0.5,1\n"), "", &["line 6", "action: got \"x\"", ", ..."]);
    refuse(head, "actions = [\"i1\", \"z\"]", &["actions: got z", "no line in `items`"]);
    refuse(head, "item = \"name\"", &["column: got \"name\""]);
    std::fs::write(&path, head).unwrap();
    let environment = opened(&format!("file = {path:?}\nitems = {items:?}"), 2).unwrap();
    assert_eq!((environment.bounds.dimension, environment.arms), (3, 150));
    environment.trials.run(1, 0, &mut |_: &Arms, _| 0, &[2]).unwrap();
    std::fs::remove_file(path).unwrap();
    std::fs::remove_file(items).unwrap();
}
