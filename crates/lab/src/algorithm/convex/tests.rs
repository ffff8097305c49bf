use super::*;
use crate::Experiment;

fn parse(text: &str) -> Result<Experiment> {
    Experiment::parse(text)
}

const HEAD: &str = "name = \"t\"\nrounds = 4000\ntrials = 2\n";

#[test]
fn every_set_can_be_named_and_played() {
    for set in [
        "{ kind = \"simplex\", outcomes = 4 }",
        "{ kind = \"l1_ball\", dimension = 4 }",
        "{ kind = \"l2_ball\", dimension = 4, radius = 2.0 }",
        "{ kind = \"box\", dimension = 4 }",
        "{ kind = \"slates\", elements = 6, size = 2 }",
        "{ kind = \"partition\", groups = [[3, 1], [4, 2]] }",
        "{ kind = \"spanning_trees\", vertices = 4 }",
        "{ kind = \"routes\", vertices = 4, edges = [[0, 1], [0, 2], [1, 3], [2, 3]] }",
        "{ kind = \"grid_routes\", rows = 3, columns = 3 }",
        "{ kind = \"assignments\", size = 3 }",
        "{ kind = \"low_rank\", rows = 2, columns = 3 }",
        "{ kind = \"polytope\", rows = [[1, 1], [-1, 0], [0, -1]], bounds = [1, 0, 0] }",
    ] {
        let text = format!(
            "{HEAD}[environment]\nkind = \"losses\"\nset = {set}\n[[algorithm]]\nkind = \"private_bandit\"\nprivacy = {{ epsilon = 1.0, delta = 1e-6 }}\n"
        );
        let experiment = parse(&text).unwrap();
        let summary = experiment.simulate(|_, _| ()).unwrap();
        let relative = summary.algorithms[0].measures[0].1.mean;
        assert!(relative > 0.0 && relative < 1.6, "{set}: {relative}");
        let guarantee = summary.algorithms[0].guarantee.as_ref().unwrap();
        assert!((guarantee.epsilon() - 1.0).abs() < 1e-5);
    }
}

#[test]
fn algorithms_and_their_options_are_read() {
    let text = format!(
        "{HEAD}[environment]\nkind = \"losses\"\nloss = \"linear\"\nset = {{ kind = \"slates\", elements = 6, size = 2 }}\n\
         [[algorithm]]\nkind = \"garber_kretzu\"\n\
         [[algorithm]]\nkind = \"smith_thakurta\"\nprivacy = {{ epsilon = 1.0, delta = 1e-6 }}\n\
         [[algorithm]]\nkind = \"private_bandit\"\nname = \"pure\"\nprivacy = {{ epsilon = 1.0 }}\n\
         [[algorithm]]\nkind = \"private_bandit\"\nname = \"local\"\ntrust = \"local\"\nprivacy = {{ epsilon = 1.0 }}\n\
         [[algorithm]]\nkind = \"private_bandit\"\nname = \"slates\"\nplay = \"vertices\"\nmechanism = \"tree\"\nprivacy = {{ epsilon = 1.0, delta = 1e-6 }}\n\
         [[algorithm]]\nkind = \"private_bandit\"\nname = \"as published\"\nmode = \"paper\"\nsettings = \"published\"\nprivacy = {{ epsilon = 1.0, delta = 1e-6 }}\n"
    );
    let summary = parse(&text).unwrap().simulate(|_, _| ()).unwrap();
    assert_eq!(summary.algorithms.len(), 6);
    let slates = summary.algorithm("slates").unwrap();
    assert!(slates.measures[4].1.mean > 0.1, "vertices lie away from their points");
    let paper = summary.algorithm("as published").unwrap().guarantee.as_ref().unwrap();
    assert!(paper.claimed().unwrap().holds() && paper.epsilon() < 0.1);
    assert!(summary.algorithm("Garber and Kretzu").unwrap().guarantee.is_none());
}

#[test]
fn an_unknown_horizon_and_several_losses_of_a_person_keep_the_promise() {
    let text = format!(
        "{HEAD}[environment]\nkind = \"losses\"\nloss = \"linear\"\nset = {{ kind = \"slates\", elements = 6, size = 2 }}\n\
         [[algorithm]]\nkind = \"private_bandit\"\nname = \"doubling\"\nfirst_epoch = 100\nplay = \"vertices\"\nprivacy = {{ epsilon = 1.0, delta = 1e-6 }}\n\
         [[algorithm]]\nkind = \"private_bandit\"\nname = \"thrice\"\ncontributions_per_person = 3\nprivacy = {{ epsilon = 1.0, delta = 1e-6 }}\n"
    );
    let summary = parse(&text).unwrap().simulate(|_, _| ()).unwrap();
    for algorithm in &summary.algorithms {
        let guarantee = algorithm.guarantee.as_ref().unwrap();
        assert!((guarantee.epsilon() - 1.0).abs() < 1e-5, "{}", algorithm.name);
        assert!(guarantee.warnings().iter().any(|warning| warning.contains("simulat")));
    }
    assert!(summary.algorithms[0].measures[4].1.mean > 0.1, "vertices in every epoch");
}

#[test]
fn a_mirrored_value_climbs() {
    let text = "name = \"t\"\nrounds = 40_000\n[environment]\nkind = \"losses\"\nset = { kind = \"l1_ball\", dimension = 3 }\n\
         [[algorithm]]\nkind = \"private_bandit\"\nname = \"right\"\n\
         [[algorithm]]\nkind = \"private_bandit\"\nname = \"printed\"\nprinted_sign = true\n";
    let summary = parse(text).unwrap().simulate(|_, _| ()).unwrap();
    let relative = |name: &str| summary.algorithm(name).unwrap().measures[0].1.mean;
    assert!(relative("right") < 0.3 && relative("printed") > 1.3, "{}", relative("printed"));
}

#[test]
fn nonsense_is_refused_by_name() {
    let refuse = |environment: &str, algorithm: &str, word: &str| {
        let text = format!(
            "{HEAD}[environment]\nkind = \"losses\"\n{environment}\n[[algorithm]]\n{algorithm}\n"
        );
        let error = parse(&text).err().expect("nonsense").to_string();
        assert!(error.contains(word), "{error}");
    };
    let bandit = "kind = \"private_bandit\"";
    refuse("set = { kind = \"slates\", elements = 3, size = 3 }", bandit, "size");
    refuse("set = { kind = \"simplex\", outcomes = 4 }\ndepth = 0.0", bandit, "depth");
    let many = "9_000_000_000_000_000_000";
    for (set, word) in [
        (format!("{{ kind = \"simplex\", outcomes = {many} }}"), "outcomes"),
        (format!("{{ kind = \"l1_ball\", dimension = {many} }}"), "dimension"),
        (format!("{{ kind = \"l2_ball\", dimension = {many} }}"), "dimension"),
        (format!("{{ kind = \"box\", dimension = {many} }}"), "dimension"),
        (format!("{{ kind = \"slates\", elements = {many}, size = 2 }}"), "elements"),
        (format!("{{ kind = \"partition\", groups = [[{many}, 1], [{many}, 1]] }}"), "elements"),
        (format!("{{ kind = \"spanning_trees\", vertices = {many} }}"), "vertices"),
        (format!("{{ kind = \"grid_routes\", rows = {many}, columns = 3 }}"), "rows"),
        ("{ kind = \"grid_routes\", rows = 3, columns = 0 }".into(), "vertices"),
        (format!("{{ kind = \"assignments\", size = {many} }}"), "size"),
        (format!("{{ kind = \"low_rank\", rows = 2, columns = {many} }}"), "columns"),
    ] {
        refuse(&format!("set = {set}"), bandit, word);
    }
    refuse(
        "set = { kind = \"simplex\", outcomes = 4 }",
        "kind = \"private_bandit\"\nfirst_epoch = 100\ncontributions_per_person = 200\nprivacy = { epsilon = 1.0, delta = 1e-6 }",
        "contributions_per_person",
    );
    refuse("set = { kind = \"l1_ball\", dimension = 4 }\nloss = \"linear\"", bandit, "linear");
    refuse(
        "set = { kind = \"simplex\", outcomes = 4 }",
        "kind = \"garber_kretzu\"\nprivacy = { epsilon = 1.0 }",
        "privacy",
    );
    refuse("set = { kind = \"assignments\", size = 3 }", "kind = \"smith_thakurta\"", "projection");
    refuse(
        "set = { kind = \"simplex\", outcomes = 4 }",
        "kind = \"private_bandit\"\nsmoothing = 9.0",
        "smoothing",
    );
    refuse(
        "set = { kind = \"simplex\", outcomes = 4 }",
        "kind = \"private_bandit\"\nprivacy = { epsilon = -1.0, delta = 1e-6 }",
        "epsilon",
    );
}
