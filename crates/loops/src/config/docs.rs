//! The files of loops that the pages print are complete, and what stands beside them fits.

use super::*;

fn page(name: &str) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/");
    std::fs::read_to_string(format!("{path}{name}")).unwrap()
}

/// The text between two lines that begin so.
fn between<'a>(page: &'a str, first: &str, last: &str) -> &'a str {
    let begin = page.find(first).unwrap() + first.len();
    &page[begin..begin + page[begin..].find(last).unwrap()]
}

#[test]
fn loops_of_devices_that_are_printed_can_be_served() {
    let page = page("guides/devices.md");
    for (heading, trust) in
        [("## A loop of devices\n", Trust::Device), ("## A shuffler\n", Trust::Shuffler)]
    {
        let section = &page[page.find(heading).unwrap()..];
        let printed = between(section, "\n\n    ", "\n\n");
        let plans = ServiceFile::parse(printed).unwrap().check();
        let params = plans.unwrap()[0].params().clone();
        assert_eq!((params.trust, params.warnings("news")), (trust, vec![]));
    }
}

#[test]
fn the_printed_prior_is_one_of_the_printed_loop() {
    let page = page("reference/service.md");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("prior.json"), between(&page, "```json\n", "```")).unwrap();
    let table = between(&page, "```toml\n", "```");
    let table = table.replace("[loop.home]\n", "[loop.home]\nwarm_start = \"prior.json\"\n");
    let plans = ServiceFile::parse(&table).unwrap().check_in(folder.path()).unwrap();
    assert!(plans[0].central().unwrap().warm_start.is_some());
}

#[test]
fn a_refusal_of_a_file_names_the_remedy() {
    let file = |privacy: &str, more: &str| {
        let text = format!(
            "[loop.home]\nprivacy = {{ {privacy} }}\n{more}\n[loop.home.action]\nx = {{ range = [0, 1] }}"
        );
        ServiceFile::parse(&text).and_then(|file| file.check())
    };
    let good = "epsilon = 1.0, delta = 1e-6";
    assert!(file(good, "").is_ok());
    let both = "learner = { rule = \"tuned\", explore = \"tuned\" }";
    for (privacy, more, words) in [
        ("epsilon = 1.0, delta = 1e-6, visits = -3, per = \"ever\"", "", "whole number from 1"),
        ("epsilon = 1.0, delta = 1e-6, visits = 1.5, per = \"ever\"", "", "whole number from 1"),
        ("epsilon = -1.0, delta = 1e-6", "", "loop.home.privacy.epsilon: got -1"),
        ("epsilon = 1.0, delta = 7", "", "loop.home.privacy.delta: got 7"),
        (good, "reward = { range = [0, nan] }", "loop.home.reward.range"),
        (good, "context = { age = { range = [0, nan] } }", "loop.home.context.age.range"),
        (good, both, "two names of one key"),
    ] {
        let error = file(privacy, more).map(drop).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn what_is_probably_not_meant_is_warned_of() {
    let warnings = |text: &str| ServiceFile::parse(text).unwrap().loops["home"].warnings("home");
    let loud = "[loop.home]\nprivacy = { epsilon = 25.0, delta = 1e-6 }";
    let found = warnings(loud).join("\n");
    assert!(found.contains("no features of their own") && found.contains("epsilon: got 25"));
    let sound = "[loop.home]\nprivacy = { epsilon = 20.0, delta = 1e-6 }\naction = { x = { range = [0, 1] } }";
    assert_eq!(warnings(sound), [""; 0]);
    let delta = warnings(&sound.replace("1e-6", "0.1")).join("\n");
    assert!(
        delta.contains("loop.home.privacy.delta: got 0.1") && delta.contains("0.001"),
        "{delta}"
    );
    assert_eq!(warnings(&sound.replace("1e-6", "0.001")), [""; 0]);
    // A feature of the context adds the same to every action, unless it is crossed; what begins again is no line.
    let context = "\ncontext = { age = { range = [18, 80] }, hour = { range = [0, 24] } }";
    let crossed = format!("{sound}{context}\ncross = {{ with = [[\"hour\", \"x\"]] }}");
    let found = warnings(&crossed);
    assert!(
        found.len() == 2
            && found[0].contains("loop.home.context.hour is a range from 0 to 24")
            && found[1].contains("loop.home.context.age is in no cross"),
        "{found:?}"
    );
}

#[test]
fn the_printed_growth_is_that_of_the_example() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/loops.toml");
    let plans = ServiceFile::parse(&std::fs::read_to_string(example).unwrap()).unwrap().check();
    let storage = crate::storage(&plans.unwrap()[0]).unwrap().to_string();
    let page = page("reference/service.md");
    let printed = between(&page, "  storage: ", "\n");
    assert_eq!(printed, storage);
}
