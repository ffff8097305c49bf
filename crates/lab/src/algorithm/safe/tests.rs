use super::*;
use crate::Experiment;

fn experiment(algorithm: &str) -> Result<Experiment> {
    Experiment::parse(&format!(
        "name = \"t\"\nrounds = 300\ntrials = 2\n[environment]\nkind = \"agents\"\nsetup = 1\n{algorithm}"
    ))
}

#[test]
fn both_rules_run_safely_and_certify_every_agent() {
    let lines = "[[algorithm]]\nkind = \"ofu\"\nconfidence = \"paper\"\nprivacy = { epsilon = 20, delta = 1e-5 }\n\
                 [[algorithm]]\nkind = \"roful\"\nlevels = [1.0, 0.25, 0.5]\nsensitivity = { common = 1.012 }\nprivacy = { epsilon = 20, delta = 1e-5 }\n";
    let experiment = experiment(lines).unwrap();
    let summary = experiment.simulate(|_, _| ()).unwrap();
    for algorithm in &summary.algorithms {
        let violations = algorithm.measures.iter().find(|m| m.0 == "safety violations").unwrap();
        assert_eq!((violations.1.mean, violations.1.trials), (0.0, 2));
        assert!(algorithm.final_regret.mean > 0.0);
        assert!(algorithm.bounds[0].is_vacuous());
    }
    // Three agents with one epsilon share two certificates; three with their own have six.
    assert_eq!(summary.algorithms[0].certificates.len(), 2);
    assert_eq!(summary.algorithms[1].certificates.len(), 6);
    let weakest = summary.algorithms[1].guarantee.as_ref().unwrap().epsilon();
    assert!((weakest - 80.0).abs() < 1e-5, "{weakest}");
}

#[test]
fn a_coordinator_with_too_small_widths_is_counted() {
    let lines = "[[algorithm]]\nkind = \"roful\"\nconfidence = { scaled = 0.03 }\nprivacy = { epsilon = 2, delta = 1e-5 }\n";
    let summary = experiment(lines).unwrap().simulate(|_, _| ()).unwrap();
    let violations = summary.algorithms[0].measures.iter().find(|m| m.0 == "safety violations");
    assert!(violations.unwrap().1.mean > 10.0);
    assert!(summary.algorithms[0].remarks.iter().any(|remark| remark.contains("NOT certified")));
}

#[test]
fn bad_lines_are_refused_by_name() {
    for (lines, word) in [
        ("[[algorithm]]\nkind = \"ofu\"\nlevels = [1.0]\n", "levels"),
        // The range of agent 0 is exactly 1, but its noise needs room too: clipping at 1 would bias the estimate.
        (
            "[[algorithm]]\nkind = \"ofu\"\nsensitivity = { common = 1.0 }\nprivacy = { epsilon = 1, delta = 1e-5 }\n",
            "at least 1.012",
        ),
        (
            "[[algorithm]]\nkind = \"ofu\"\nsensitivity = { common = 0.5 }\nprivacy = { epsilon = 1, delta = 1e-5 }\n",
            "sensitivity",
        ),
        ("[[algorithm]]\nkind = \"ofu\"\nprivacy = { epsilon = -1, delta = 1e-5 }\n", "epsilon"),
        (
            "[[algorithm]]\nkind = \"ofu\"\nprivacy = { epsilon = 1, delta = 1e-5, responses = 10 }\n",
            "responses",
        ),
        ("[[algorithm]]\nkind = \"ofu\"\nwidth = 3\n", "width"),
        ("[[algorithm]]\nkind = \"joint\"\n", "joint"),
    ] {
        let error = experiment(lines).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
    let both = "name = \"t\"\nrounds = 3\n[environment]\nkind = \"agents\"\nsetup = 1\naction_bound = 2.0\n[[algorithm]]\nkind = \"ofu\"\n";
    assert!(Experiment::parse(both).map(|_| ()).unwrap_err().to_string().contains("exactly one"));
    let long = "name = \"t\"\nrounds = 3\n[environment]\nkind = \"agents\"\nparameter_bound = 1.0\naction_bound = 1.0\nresponse_noise = 0.1\nparameters = [[3.0]]\n\
                safe_set = { rows = [[1.0], [-1.0]], bounds = [1.0, 1.0] }\nobjective = { linear = { weights = [1.0] } }\n[[algorithm]]\nkind = \"ofu\"\n";
    let error = Experiment::parse(long).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("norm of a parameter"), "{error}");
}

#[test]
fn a_plan_names_the_smallest_feasible_budget_and_prints_all_agents() {
    let text = "safe_set = { simplex = [1.0, 0.25, 0.5] }\nobjective = { linear = { weights = [0.8, 0.1, 0.1] } }\n\
                dimension = 3\nparameter_bound = 0.5\naction_bound = 2.0\nresponse_noise = 0.3\nhorizon = 30000\nlevels = [1.0]\n\
                privacy = { epsilon = 2.0, delta = 0.9, sensitivity = 1.0, mode = \"paper\" }\n";
    let file = PlanFile::parse(text).unwrap();
    let error = PlanFile { budget: Some(1.0), ..file.clone() }.plan().unwrap_err().to_string();
    let smallest: f64 = error.rsplit(' ').next().unwrap().parse().unwrap();
    let file = PlanFile { budget: Some(smallest), ..file };
    let printed = plan_text(&file, &file.plan().unwrap());
    assert!(printed.contains("VACUOUS") && printed.contains("Unimprovable"), "{printed}");
    assert!(PlanFile { sigma: Some(1.0), ..file }.plan().is_err(), "sigma given twice");
}

/// A bound that says no more than that the safe set is bounded is marked, for concave objectives too.
#[test]
fn vacuous_bounds_are_marked_whatever_the_objective() {
    for objective in [
        "linear = { weights = [1.0, 2.0] }",
        "fair = { weights = [1.0, 2.0], reserves = [2.0, 2.0] }",
    ] {
        let text = format!(
            "name = \"t\"\nrounds = 20\n[environment]\nkind = \"agents\"\nparameter_bound = 1.0\naction_bound = 4.0\nresponse_noise = 0.01\n\
             parameters = [[0.5, 0.2], [0.1, -0.4]]\nsafe_set = {{ rows = [[1, 1], [-1, 0], [0, -1]], bounds = [3, 1, 1] }}\n\
             objective = {{ {objective} }}\n[[algorithm]]\nkind = \"roful\"\nprivacy = {{ epsilon = 30, delta = 1e-6 }}\n"
        );
        let summary = Experiment::parse(&text).unwrap().simulate(|_, _| ()).unwrap();
        let bound = &summary.algorithms[0].bounds[0];
        assert!(bound.is_vacuous() && bound.trivial > 0.0, "{bound:?}");
        assert!(summary.algorithms[0].final_regret.mean <= bound.trivial);
    }
}
