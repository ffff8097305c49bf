use super::super::{AlgorithmSummary, Summary, rounded};
use crate::{
    Experiment,
    report::figure::{Figure, Line, Panel},
};

fn regret(summary: &Summary) -> Figure {
    summary.figures().into_iter().find(|(name, _)| name == "regret").expect("it is drawn").1
}

/// An experiment of 30 rounds with these tables of algorithms.
fn of_algorithms(trials: u64, algorithms: &str) -> Summary {
    let text = format!(
        "name = \"many\"\nrounds = 30\ntrials = {trials}\nenvironment = {{ kind = \"sphere\", dimension = 3, arms = 5 }}\n{algorithms}"
    );
    Experiment::parse(&text).unwrap().simulate(|_, _| ()).unwrap()
}

/// A grid of two keys beside one of one key, and a reference.
const TWO_KEYS: &str = r#"
    [[algorithm]]
    kind = "linucb"
    [[algorithm]]
    kind = "joint"
    privacy = { epsilon = [0.25, 0.5, 1, 2, 4], delta = 1e-6 }
    window = [2, 5, 10]
    [[algorithm]]
    kind = "local"
    privacy = { epsilon = [0.25, 0.5, 1, 2, 4], delta = 1e-6 }
"#;

#[test]
fn every_point_of_a_grid_is_drawn_beside_those_it_is_compared_with() {
    let mut all = of_algorithms(3, TWO_KEYS);
    all.algorithms.iter_mut().for_each(|one| one.final_regret.stuck_trials = Some(1));
    let drawn = regret(&all);
    let titles: Vec<&str> = drawn.panels.iter().map(|panel| panel.title.as_str()).collect();
    assert_eq!(titles, ["joint, window = 2", "joint, window = 5", "joint, window = 10", "local"]);
    for panel in &drawn.panels {
        let names: Vec<&str> = panel.series.iter().map(|line| line.name.as_str()).collect();
        let levels = names.iter().filter(|name| name.starts_with("epsilon = ")).count();
        assert_eq!(levels, 5, "{names:?}");
        // Of three panels of `joint` and that of `local`.
        assert!(names.contains(&"epsilon = 1, 4 of 12 stuck"), "{names:?}");
        assert!(names.iter().any(|name| name.starts_with("LinUCB")), "{names:?}");
    }
    assert!(!drawn.caption.contains("Not drawn"), "{}", drawn.caption);
    // Names do not say the same twice, and a note says whose it is.
    assert!(all.algorithm("joint (0.25, 1e-6), window = 5").is_some());
    let notes = all.notes();
    let levels = notes.iter().filter(|note| note.contains("a predicted reward errs"));
    assert!(levels.clone().all(|note| note.contains(", 1e-6)")), "{notes:?}");
    assert!(notes.iter().any(|note| note.starts_with("linucb; joint; local: ")), "{notes:?}");
}

#[test]
fn twenty_levels_are_lines_of_one_panel_in_order() {
    let levels: Vec<String> = (1..=20).map(|level| format!("{}", 0.5 * f64::from(level))).collect();
    let many = of_algorithms(
        3,
        &format!(
            "[[algorithm]]\nkind = \"joint\"\nname = \"curator\"\nprivacy = {{ epsilon = [{}], delta = 1e-6 }}",
            levels.join(", ")
        ),
    );
    let drawn = regret(&many);
    assert_eq!((drawn.panels.len(), drawn.panels[0].title.as_str()), (1, "curator"));
    let ramp: Vec<f64> = drawn.series().filter_map(|line| line.ramp).collect();
    assert_eq!(ramp.len(), 20);
    assert!(ramp.windows(2).all(|pair| pair[0] < pair[1]), "{ramp:?}");
}

#[test]
fn too_many_panels_have_one_value_of_a_key_and_the_caption_says_so() {
    let many = of_algorithms(
        1,
        r#"
        [[algorithm]]
        kind = "joint"
        privacy = { epsilon = [1, 2, 3, 4, 5, 6, 7, 8, 9], delta = 1e-6 }
        window = [2, 3, 4, 5, 6, 7, 8]
        contributions_per_person = [1, 2, 3, 4]
    "#,
    );
    let drawn = regret(&many);
    assert_eq!(drawn.panels.len(), 6, "by default");
    let words = "Not drawn (all rows are in results.csv): contributions_per_person other than 3";
    assert!(drawn.caption.contains(words), "{}", drawn.caption);
}

#[test]
fn many_algorithms_are_in_few_panels_with_the_best_one_in_each() {
    let one = |number: u32| {
        format!(
            "[[algorithm]]\nkind = \"joint\"\nname = \"learner {number}\"\nprivacy = {{ epsilon = {number}, delta = 1e-6 }}\n"
        )
    };
    let many = of_algorithms(3, &(1..=20).map(one).collect::<String>());
    let drawn = regret(&many);
    assert_eq!(drawn.panels.len(), 4);
    let named = |panel: &Panel| -> Vec<String> {
        let names = panel.series.iter().map(|line| line.name.clone());
        names.filter(|name| !name.is_empty()).collect()
    };
    let all: Vec<String> = drawn.panels.iter().flat_map(named).collect();
    let median = |one: &AlgorithmSummary| one.final_regret.median;
    let best = many.algorithms.iter().min_by(|a, b| median(a).total_cmp(&median(b))).unwrap();
    let count = |name: &str| all.iter().filter(|own| own.split(',').next() == Some(name)).count();
    for one in &many.algorithms {
        let expected = if one.name == best.name { 4 } else { 1 };
        assert_eq!(count(&one.name), expected, "{} in {all:?}", one.name);
    }
    // In one panel they have their colours, and no theory.
    let mut many = many;
    many.drawing.facets = Some("none".into());
    let alone = regret(&many);
    assert!(alone.series().all(|line| line.ramp.is_none() && line.line != Line::Dashed));
    assert_eq!(alone.series().filter(|line| !line.name.is_empty()).count(), 20);
    for line in drawn.series().filter(|line| !line.name.is_empty()) {
        let same = alone.series().find(|other| other.name == line.name).expect("drawn too");
        assert_eq!(same.colour, line.colour, "{}", line.name);
    }
}

#[test]
fn a_percentile_is_of_twenty_trials_at_least() {
    let one = "[[algorithm]]\nkind = \"linucb\"\n[figure]\nspread = \"interval\"";
    for (trials, has) in [(19, false), (20, true)] {
        let drawn = regret(&of_algorithms(trials, one));
        assert_eq!(drawn.series().any(|line| line.line == Line::Marks), has);
        assert_eq!(drawn.series().any(|line| line.role == "95th percentile"), has);
        assert!(drawn.series().any(|line| line.role == "median"), "for the legend");
    }
}

#[test]
fn the_best_learner_is_named_for_each_epsilon_and_every_warning_is_shown() {
    let mut all = of_algorithms(3, TWO_KEYS);
    for one in &mut all.algorithms {
        (one.remarks, one.final_regret.stuck_trials) = (Vec::new(), Some(0));
    }
    for one in &mut all.algorithms[1..5] {
        one.final_regret.stuck_trials = Some(1);
    }
    let html = all.page(&[]).unwrap().html();
    let (first, rest) = html.split_once("</dl>").unwrap();
    for epsilon in ["0.25", "0.5", "1", "4"] {
        let name = format!("<dt>Best with a guarantee, epsilon {epsilon}</dt><dd>");
        assert!(first.contains(&name), "{name}: {first}");
    }
    assert!(first.contains("1 more between these"), "{first}");
    assert!(!first.contains("protects no person; on"), "two facts are two sentences: {first}");
    assert!(first.contains("a simulation itself protects no person"), "{first}");
    assert!(first.contains("1 more warning below"), "{first}");
    assert_eq!(rest.matches("trials are stuck: they lose").count(), 4, "all of them, in full");
}

#[test]
fn bounds_are_written_as_numbers_are() {
    let words = [4.4035, 0.5, 123_456.7, 2.5e9, 0.0001].map(rounded);
    assert_eq!(words, ["4.40", "0.50", "123457", "2.50e9", "1.00e-4"]);
}
