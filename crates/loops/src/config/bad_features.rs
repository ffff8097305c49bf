//! Features that no loop can have, and those that a loop should not have: each with its field, its value and a remedy.

use super::ServiceFile;

fn file(more: &str) -> String {
    format!(
        "[loop.home]\nprivacy = {{ epsilon = 1.0, delta = 1e-6 }}\n[loop.home.context]\nhour = {{ cycle = 24 }}\nage = {{ range = [18, 80] }}\nliked = {{ categories = [\"rock\", \"jazz\"] }}\n[loop.home.action]\ngenre = {{ categories = [\"rock\", \"jazz\"] }}\n{more}"
    )
}

fn refusal(text: &str) -> String {
    let checked = ServiceFile::parse(text).and_then(|file| file.check());
    checked.err().map_or_else(|| panic!("it was accepted: {text}"), |error| error.to_string())
}

#[test]
fn bad_features_are_refused_by_field_value_and_remedy() {
    let cross = "[loop.home.cross]\nwith = [[\"hour\", \"genre\"], [\"liked\", \"genre\"]]\n";
    assert!(ServiceFile::parse(&file(cross)).and_then(|file| file.check()).is_ok());
    for (more, field, value, remedy) in [
        ("[loop.home.weight]\nconstant = -0.2", "weight", "-0.2 for constant", "from 0 to 1"),
        ("[loop.home.weight]\nconstant = 1.5", "weight", "1.5 for constant", "from 0 to 1"),
        (
            "[loop.home.weight]\n\"context.age\" = 0.7\n\"action.genre\" = 0.6",
            "weight",
            "1.3",
            "at most 1",
        ),
        (
            "[loop.home.weight]\n\"context.hour\" = 0\n\"context.age\" = 0\n\"context.liked\" = 0\n\"action.genre\" = 0",
            "weight",
            "0 for every feature",
            "positive share for at least one",
        ),
        (
            "[loop.home.weight]\nconstant = 1",
            "weight",
            "nothing left for context.age",
            "smaller ones",
        ),
        ("[loop.home.weight]\nconstnt = 0.2", "weight", "0.2 for constnt", "give one of"),
        (
            "[loop.home.cross]\nmatch = [[\"hour\", \"genre\"]]",
            "cross.match",
            "a cycle of 24 and 2 categories",
            "the same words",
        ),
        (
            "[loop.home.cross]\nmatch = [[\"age\", \"genre\"]]",
            "cross.match",
            "a range from 18 to 80 and 2 categories",
            "the same words",
        ),
        (
            "live = { categories = [\"jazz\", \"rock\"] }\n[loop.home.cross]\nmatch = [[\"liked\", \"live\"]]",
            "cross.match",
            "2 categories and 2 categories",
            "same order",
        ),
        ("day = { cycle = 0 }", "cycle", "0 for action.day", "positive period"),
        ("day = { cycle = -7 }", "cycle", "-7 for action.day", "positive period"),
        ("day = { cycle = \"week\" }", "day", "without a period", "{ cycle = 24 }"),
        ("day = { cycle = {} }", "day", "without a period", "{ cycle = 24 }"),
        ("size = { bins = [3, 1] }", "bins", "[3.0, 1.0] for action.size", "in order"),
        ("size = { bins = [1, 1] }", "bins", "[1.0, 1.0] for action.size", "in order"),
        ("size = { bins = [] }", "bins", "[] for action.size", "in order"),
        ("size = { bins = [\"a\"] }", "size", "no numbers", "increasing edges"),
        (
            "mood = { categories = [\"a\", \"b\", \"a\"] }",
            "categories",
            "\"a\" twice for action.mood",
            "every word once",
        ),
        (
            "item = { hash = { buckets = 5000 } }\n[loop.home.cross]\nwith = [[\"liked\", \"item\"]]",
            "dimension",
            "15",
            "the widest part, liked*item, has 10000",
        ),
    ] {
        let message = refusal(&file(more));
        for words in ["home", field, value, remedy] {
            assert!(message.contains(words), "{words}: {message}");
        }
    }
    let paced =
        file(cross).replace("[loop.home.context]", "events_per_day = -3\n[loop.home.context]");
    let message = refusal(&paced);
    assert!(
        message.contains("loop.home.events_per_day: got -3") && message.contains("positive number"),
        "{message}"
    );
}

/// Many cells are allowed where a matrix holds them, and what they need is stated with numbers.
#[test]
fn parts_that_stay_noise_are_named_with_their_numbers() {
    let wide = |pace: &str| {
        let more = "[loop.home.cross]\nwith = [[\"country\", \"genre\"]]";
        let text = file(more)
            .replace("[loop.home.context]", &format!("{pace}learner = {{ explore = \"thompson\" }}\n[loop.home.context]\ncountry = {{ hash = {{ buckets = 120 }} }}"));
        let plans = ServiceFile::parse(&text).unwrap().check().unwrap();
        plans[0].outlook().unwrap().unwrap()
    };
    let without = wide("");
    assert_eq!(without.warnings("home"), [""; 0]);
    let country = |outlook: &super::LoopOutlook| {
        outlook.parts.iter().find(|part| part.part == "country*genre").cloned().unwrap()
    };
    let cross = country(&without);
    assert!(cross.cells == 240 && cross.others_without < cross.useful_from, "{cross:?}");
    let text = without.to_string();
    assert!(
        text.contains("country x genre (240 cells): ") && text.contains("; leave it out: "),
        "{text}"
    );

    let paced = wide("events_per_day = 30\n");
    assert_eq!(country(&paced).useful_from, None, "{paced:?}");
    let warning = paced.warnings("home").join("\n");
    for words in [
        "loop.home: country*genre has 240 cells for 3,900 visits",
        "about 16 a cell",
        "it will stay noise",
    ] {
        assert!(warning.contains(words), "{words}: {warning}");
    }
    // A hundred thousand times as many people are enough for everything.
    let many = wide("events_per_day = 3000000\n");
    assert!(many.parts.iter().all(|part| part.useful_from.is_some()), "{many:?}");
    assert_eq!(many.warnings("home"), [""; 0]);
}
