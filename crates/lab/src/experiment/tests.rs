use super::*;

const FILE: &str = r#"
name = "a grid"
rounds = 200
trials = 3

[environment]
kind = "sphere"
dimension = [3, 4]
arms = 5

[[algorithm]]
kind = "linucb"

# levels is a list by itself; delta is a grid.
[[algorithm]]
kind = "local"
levels = [1.0, 4.0]
hidden_levels = [false, true]
privacy = { epsilon = 4.0, delta = [1e-6, 1e-5] }
"#;

fn refusal(text: &str) -> String {
    match Experiment::parse(text) {
        Ok(_) => panic!("it was accepted"),
        Err(error) => {
            assert!(error.is_bad_input());
            error.to_string()
        }
    }
}

#[test]
fn lists_make_grids_and_lists_that_are_values_do_not() {
    let experiment = Experiment::parse(FILE).unwrap();
    // Two environments, each with LinUCB and four points.
    let names: Vec<&str> = experiment.cells().iter().map(|cell| cell.name.as_str()).collect();
    assert_eq!(names.len(), 10, "{names:?}");
    assert!(names[0].ends_with("[dimension = 3]") && names[5].ends_with("[dimension = 4]"));
    let labels = &experiment.cells()[1].labels;
    let label = |i: usize| (labels[i].key.as_str(), labels[i].value.as_str());
    assert_eq!((label(0), label(1)), (("dimension", "3"), ("hidden_levels", "false")));
    assert_eq!(experiment.cells()[1].algorithm.card().certificates.len(), 2);
    // The file as run says the same.
    let again = Experiment::parse(&experiment.text).unwrap();
    let keys = |of: &Experiment| of.cells.iter().map(|cell| cell.key).collect::<Vec<_>>();
    assert_eq!(keys(&again), keys(&experiment));
    let mut sorted = keys(&experiment);
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), 10, "keys differ");
    assert_eq!(again.text, experiment.text);
}

#[test]
fn overrides_reach_what_they_name() {
    let set = |text: &str| text.parse::<Override>().unwrap();
    let changes = [
        set("algorithm.privacy.delta=1e-7"),
        set("environment.dimension=6"),
        set("trials=1"),
        set("name=word"),
    ];
    let experiment = Experiment::parse_with(FILE, &changes).unwrap();
    assert_eq!((experiment.trials, experiment.name.as_str()), (1, "word"));
    // LinUCB has no privacy to change; the local one has no grid of deltas left.
    assert_eq!(experiment.cells().len(), 3);
    assert!(experiment.text.contains("dimension = 6"), "{}", experiment.text);
    for bad in ["epsilon", "=1", "a..b=1"] {
        assert!(bad.parse::<Override>().is_err(), "{bad}");
    }
}

#[test]
fn every_point_of_a_grid_is_named_by_its_place() {
    let text = "name = \"x\"\nrounds = 10\n[environment]\nkind = \"sphere\"\n[[algorithm]]\nkind = \"linucb\"\nrule = [\"tuned\", \"certified\"]\n";
    let experiment = Experiment::parse(text).unwrap();
    let named = |cell: &Cell, rule: &str| cell.name.contains(&format!("rule = {rule}"));
    for (cell, rule) in experiment.cells().iter().zip(["tuned", "certified"]) {
        assert!(named(cell, rule), "{}", cell.name);
    }
}

#[test]
fn an_error_names_line_table_key_and_remedy() {
    let says = |from: &str, to: &str, words: &[&str]| {
        let text = FILE.replace(from, to);
        assert_ne!(text, FILE);
        let message = refusal(&text);
        for word in words {
            assert!(message.contains(word), "{message:?} lacks {word:?}");
        }
    };
    says(
        "hidden_levels",
        "hiden_levels",
        &["line 18, algorithm 2", "did you mean `hidden_levels`?"],
    );
    says("kind = \"local\"", "kind = \"locale\"", &["line 16", "did you mean `local`?"]);
    says(
        "delta = [1e-6, 1e-5]",
        "delta = \"small\"",
        &["line 19", "delta: got \"small\"; expected a number"],
    );
    says("delta = [1e-6, 1e-5]", "delta = 1.5", &["line 19, algorithm 2", "delta: got 1.5"]);
    says("arms = 5", "arms = -5", &["line 9, environment, arms: got -5"]);
    says("arms = 5", "arm = 5", &["line 9, environment", "did you mean `arms`?"]);
    says("rounds = 200", "rounds = 0", &["line 3, rounds: got 0"]);
    says("rounds = 200", "round = 200", &["line 3", "did you mean `rounds`?"]);
    says("trials = 3", "trials = 3 3", &["line 4"]);
    says("[environment]", "[enviroment]", &["line 6", "did you mean `environment`?"]);
    says("[[algorithm]]", "[[algoritm]]", &["did you mean `algorithm`?"]);
    says(
        "kind = \"sphere\"",
        "kind = \"spheres\"",
        &["line 7", "spheres", "did you mean `sphere`?"],
    );
    says("kind = \"linucb\"", "kind = \"linucb\"\nname = \"a\\u0007\"", &["line 13", "control"]);
    assert!(refusal("name = \"x\"\nrounds = 1").contains("environment: missing"));
}

#[test]
fn a_run_in_any_number_of_pieces_is_the_same_run() {
    let folder = std::env::temp_dir().join(format!("reticent-pieces-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let experiment = Experiment::parse(FILE).unwrap();
    let whole = folder.join("whole");
    experiment.run(&whole, |_, _| ()).unwrap();
    let read = |folder: &Path| std::fs::read_to_string(folder.join("results.csv")).unwrap();
    // The figures of a grid.
    for key in ["dimension", "delta"] {
        assert!(whole.join(format!("figures/regret-against-{key}.svg")).exists(), "{key}");
    }
    let page = std::fs::read_to_string(whole.join("report.html")).unwrap();
    assert!(page.contains("hidden_levels = true: final regret by dimension and delta"));
    // Three shards on three machines.
    let parts: Vec<_> = (0..3).map(|index| folder.join(format!("part{index}"))).collect();
    for (index, part) in parts.iter().enumerate() {
        let shard = Some(Shard { index, of: 3 });
        let options = RunOptions { shard, keep_going: false };
        let outcome = experiment.run_with(part, options, |_, _| ()).unwrap();
        assert_eq!((outcome.computed, outcome.summary.is_none()), (10, true));
    }
    let merged = folder.join("merged");
    let missing =
        Experiment::merge(&parts[..2], &merged, &Kinds::default()).unwrap_err().to_string();
    assert!(missing.contains("trials: got 20 of 30"), "{missing}");
    Experiment::merge(&parts, &merged, &Kinds::default()).unwrap();
    assert!(read(&merged) == read(&whole));
    // A damaged line is computed again, and nothing else is.
    let log = whole.join("trials.log");
    let mut bytes = std::fs::read(&log).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    std::fs::write(&log, bytes).unwrap();
    let before = read(&whole);
    let outcome = experiment.run_with(&whole, RunOptions::default(), |_, _| ()).unwrap();
    assert_eq!((outcome.damaged, outcome.computed, outcome.resumed), (1, 1, 29));
    assert!(read(&whole) == before);
    // More trials: the old ones are kept.
    let more = Experiment::parse_with(FILE, &["trials=5".parse().unwrap()]).unwrap();
    let outcome = more.run_with(&whole, RunOptions::default(), |_, _| ()).unwrap();
    assert_eq!((outcome.computed, outcome.resumed), (20, 30));
    // Another seed shares nothing.
    let other = Experiment::parse_with(FILE, &["seed=5".parse().unwrap()]).unwrap();
    let outcome = other.run_with(&whole, RunOptions::default(), |_, _| ()).unwrap();
    assert_eq!(outcome.resumed, 0);
    let _ = std::fs::remove_dir_all(&folder);
}

/// Every absurd value is refused when the file is read, by its own name and in plain words.
#[test]
fn errors_for_absurd_values_name_their_key_before_anything_runs() {
    let base = |kind: &str, more: &str| {
        format!(
            "name = \"x\"\nrounds = 200\n[environment]\nkind = \"sphere\"\n[[algorithm]]\nkind = {kind:?}\nprivacy = {{ epsilon = 1.0, delta = 1e-6 }}\n{more}\n"
        )
    };
    let says = |text: &str, set: &[&str], words: &[&str]| {
        let set: Vec<Override> = set.iter().map(|text| text.parse().unwrap()).collect();
        let message = match Experiment::parse_with(text, &set) {
            Ok(_) => panic!("accepted: {text} {set:?}"),
            Err(error) => error.to_string(),
        };
        for word in words {
            assert!(message.contains(word), "{message:?} lacks {word:?}");
        }
        let foreign = ["u64", "usize", "f64", "struct", "variant", "tuple", "invalid type"];
        assert!(!foreign.iter().any(|word| message.contains(word)), "{message}");
    };
    for kind in ["joint", "local", "shuffle", "online_ucb", "ldp_linucb", "anytime"] {
        let text = base(kind, "");
        for epsilon in ["1e300", "1e7", "1e-320"] {
            let set = format!("algorithm.privacy.epsilon={epsilon}");
            says(
                &text,
                &[&set],
                &["--set algorithm.privacy.epsilon", "epsilon: got ", "expected a number"],
            );
        }
        says(&text, &["algorithm.privacy.delta=1e-320"], &["delta: got ", "1e-290"]);
        for wrong in ["nan", "inf", "-1"] {
            let set = format!("algorithm.privacy.epsilon={wrong}");
            says(&text, &[&set], &["epsilon: got ", "above 0"]);
        }
        says(
            &text,
            &["rounds=1000000000000000000"],
            &["--set rounds, rounds: got 1000000000000000000"],
        );
        says(
            &text,
            &["seed=-1"],
            &["--set seed, seed: got -1; expected a whole number of 0 or more"],
        );
        says(
            &text,
            &["rounds=ten"],
            &["rounds: got \"ten\"; expected a whole number of 0 or more"],
        );
        says(&text, &["rounds=1e3"], &["rounds: got 1000.0", "write it as 1000"]);
        says(&text, &["algorithm.privacy=3"], &["privacy: got 3; expected a table, such as {"]);
        says(&text, &["environment.kind=5"], &["environment, kind: got `5`"]);
        says(&text, &["environment.arms=true"], &["arms: got true; expected a whole number"]);
        says(
            &text,
            &["environment.modifiers={ lost = \"a\" }"],
            &["lost: got \"a\"; expected a number"],
        );
    }
    // The error names the wrong key, not an earlier key that would be missing.
    let joint = base("joint", "restart_every = -1");
    says(&joint, &[], &["line 8, algorithm 1, restart_every: got -1; expected a whole number"]);
    says(
        &base("joint", "schedule = 5"),
        &[],
        &["line 8", "schedule: got 5; expected one of every_round"],
    );
    says(&base("joint", "schedule = \"never\""), &[], &["line 8", "schedule: got `never`"]);
    says(&base("online_ucb", "rewards = 5"), &[], &["line 8", "expected a list of 2 values"]);
    says(
        &base("online_ucb", "rewards = [0, 1, 2]"),
        &[],
        &["line 8", "rewards: got 3 values; expected a list of 2"],
    );
    says(&base("local", "levels = []"), &[], &["levels: got []", "at least one"]);
    // Errors that would otherwise appear only in a trial.
    let ridge = "rule = { tuned = { ridge = -1.0, bonus = 0.2, width = 1.0 } }";
    let fixed = "rule = { fixed = { ridge = 0.0, width = 1.0 } }";
    for kind in ["joint", "local", "shuffle", "ldp_linucb"] {
        says(&base(kind, ridge), &[], &["line 8, algorithm 1, ridge: got -1"]);
        says(&base(kind, fixed), &[], &["line 8, algorithm 1, ridge: got 0"]);
        says(&base(kind, "rule = 3"), &[], &["line 8", "rule"]);
        says(&base(kind, "rule = { tunde = { ridge = 1.0 } }"), &[], &["did you mean `tuned`?"]);
    }
    let linucb = "name = \"x\"\nrounds = 20\n[environment]\nkind = \"sphere\"\n[[algorithm]]\nkind = \"linucb\"\n";
    says(
        &format!("{linucb}rule = {{ fixed = {{ width = -1.0 }} }}"),
        &[],
        &["line 7, algorithm 1, width: got -1"],
    );
    let why = "it is not private, so contributions are not counted";
    says(&format!("{linucb}contributions_per_person = 2"), &[], &["line 7", why]);
}

/// An algorithm that can be certified but not run is refused before any trial starts.
#[test]
fn a_trial_that_cannot_start_is_refused_before_the_others_run() {
    let text = "name = \"x\"\nrounds = 200\ntrials = 3\n[environment]\nkind = \"sphere\"\nnorm = 2.0\n[[algorithm]]\nkind = \"linucb\"\n\
        [[algorithm]]\nkind = \"shuffle\"\nmode = \"paper\"\nprivacy = { epsilon = 1.0, delta = 1e-6 }\n";
    let folder = std::env::temp_dir().join(format!("reticent-unrunnable-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let experiment = Experiment::parse(text).unwrap();
    let error = experiment.run(&folder, |_, _| panic!("a trial was run")).unwrap_err();
    assert!(error.to_string().contains("norm: got 2") && error.is_bad_input(), "{error}");
    let _ = std::fs::remove_dir_all(&folder);
}

/// `[environment.circumstances]` was the name of `[environment.modifiers]`.
#[test]
fn a_former_key_is_read_with_a_warning_that_names_the_present_one() {
    let text = |key: &str| {
        format!(
            "name = \"x\"\nrounds = 200\n[environment]\nkind = \"sphere\"\n[environment.{key}]\nlost = 0.5\n[[algorithm]]\nkind = \"linucb\"\n"
        )
    };
    let present = Experiment::parse(&text("modifiers")).unwrap();
    assert!(present.warnings().is_empty());
    let former = Experiment::parse(&text("circumstances")).unwrap();
    assert_eq!(former.warnings().len(), 1);
    assert!(former.warnings()[0].contains("environment.modifiers"), "{:?}", former.warnings());
    assert_eq!((former.cells[0].key, &former.text), (present.cells[0].key, &present.text));
    let change = "environment.circumstances.lost=0.25".parse().unwrap();
    let changed = Experiment::parse_with(&text("modifiers"), &[change]).unwrap();
    assert!(changed.text.contains("lost = 0.25") && changed.warnings().len() == 1);
    let both = text("modifiers").replace("[[", "[environment.circumstances]\nlost = 0.5\n[[");
    assert!(Experiment::parse(&both).err().unwrap().to_string().contains("circumstances"));
}
