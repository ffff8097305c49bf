use super::*;
use crate::{Experiment, contest::Contestant};

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

impl Player for Best {
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
    let lines: LoggedLines = toml::from_str(&format!("file = {path:?}\n{PUBLIC}")).unwrap();
    let setting = lines.setting(10_000, Circumstances::default()).unwrap();
    let trial = setting.world.trial(1, 0, &mut Best, &[100, 10_000]).unwrap();
    // E max(|u|, v) for uniform |u| in [0, 1] and v in [-1, 1]: 1/2 (1/2) + 1/2 (2/3) = 7/12.
    let truth = 0.5 + 0.4 * 7.0 / 12.0;
    for what in ["IPS value", "self-normalised value", "doubly robust value"] {
        let value = measure(&trial, what);
        let high = measure(&trial, &format!("{what}, 95 % high"));
        // 5.5 standard errors: a false alarm of 4e-8 each.
        assert!((value - truth).abs() < 5.5 * (high - value) / 1.96, "{what}: {value} {truth}");
        assert!(high - value < 0.03, "{what}: {high} {value}");
    }
    let replay = measure(&trial, "replay value, while learning");
    let half = measure(&trial, "replay value, while learning, 95 % high") - replay;
    assert!((replay - truth).abs() < 5.5 * half / 1.96, "{replay}");
    // A line in five is replayed, whatever the choice: that is the least propensity.
    let replayed = measure(&trial, "rounds replayed");
    assert!((replayed / 1e4 - 0.2).abs() < 5.5 * (0.16_f64 / 1e4).sqrt(), "{replayed}");
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
    let contestants = experiment.contestants();
    let run = |contestant: &dyn Contestant| contestant.trial(1, 0, &[10, 20_000]).unwrap();
    let all: Vec<Trial> = contestants.iter().map(|contestant| run(*contestant)).collect();
    // Whoever plays at random earns 1/2; the best earns 0.733.
    assert!(measure(&all[0], "IPS value, 95 % low") > 0.62, "{:?}", all[0].measures);
    assert!(measure(&all[1], "IPS value, 95 % low") > 0.5, "{:?}", all[1].measures);
    for (trial, contestant) in all.iter().zip(&contestants) {
        assert_eq!(trial.curve, run(*contestant).curve, "{}", contestant.name());
        assert_eq!(trial.curve.len(), 2);
        let conditions = contestant.guarantee().map(|g| g.conditions().join(" "));
        if let Some(conditions) = conditions {
            assert!(conditions.contains("first 20000 lines"), "{conditions}");
            assert!(conditions.contains("not covered"), "{conditions}");
        }
    }
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
    refuse("a.csv", "0.5,a,0,1", "", &["line 6", "propensity is \"0\"", "above 0"]);
    refuse("b.csv", "0.5,a,1.5,1", "", &["line 6", "propensity is \"1.5\""]);
    refuse("c.csv", "0.5,a,NaN,1", "", &["line 6", "propensity is \"NaN\""]);
    refuse("d.csv", "0.5,c,0.5,1", "actions = [\"a\", \"b\"]", &["line 6", "action is \"c\""]);
    refuse("e.csv", "0.5,,0.5,1", "", &["line 6", "action is missing"]);
    refuse("f.csv", "0.5,a,0.5,2", "", &["line 6", "reward is \"2\"", "from 0 to 1"]);
    refuse("g.csv", "x,a,0.5,1", "", &["line 6", "u is \"x\""]);
    refuse("h.csv", "0.5,a,0.1,1", "least_propensity = 0.2", &["line 6", "below least_propensity"]);
    refuse("i.csv", "0.5,a,0.5,1", "reward = \"score\"", &["no column \"score\""]);
    refuse("j.csv", "0.5,a,0.5,1", "[environment.circumstances]\nlost = 0.1", &["circumstances"]);
    let path = file("k.csv", head);
    let error = experiment(&path, 3, "", linucb).err().unwrap().to_string();
    assert!(error.contains("rounds is 3") && error.contains("give at most 2"), "{error}");
    // Support and small propensities are remarked on.
    std::fs::write(&path, format!("{head}0.5,a,0.001,1\n")).unwrap();
    let more = "actions = [\"a\", \"b\", \"z\"]";
    let remarks = experiment(&path, 2, more, linucb).unwrap().contestants()[0].remarks().join(" ");
    assert!(remarks.contains("NO SUPPORT: the log never takes z"), "{remarks}");
    assert!(remarks.contains("1 propensities are below 0.01"), "{remarks}");
    std::fs::remove_file(path).unwrap();
}
