//! Files of classes as bandits: regret, features, counts of cells, and refusals.

use super::*;
use crate::Experiment;
use reticent::features::Encoding;

pub(crate) fn file(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("reticent-table-{}-{name}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

fn run(path: &Path, more: &str, algorithms: &str) -> Result<Experiment> {
    Experiment::parse(&format!(
        "name = \"t\"\nrounds = 3000\ntrials = 2\n[environment]\nkind = \"table\"\nfile = {path:?}\n{more}\n{algorithms}"
    ))
}

fn kinds() -> String {
    let mut text = String::from("width,colour,height,kind\n");
    for i in 0..600 {
        let (a, b) = ((i * 37 % 101) as f64 / 50.0, (i * 53 % 97) as f64);
        let kind = if a > 1.2 {
            "tall"
        } else if b > 60.0 {
            "round"
        } else {
            "flat"
        };
        text += &format!("{a},red,{b},{kind}\n");
    }
    text
}

#[test]
fn a_file_of_classes_is_learnt_privately_and_not() {
    let path = file("kinds.csv", &kinds());
    let algorithms = "[[algorithm]]\nkind = \"linucb\"\n[[algorithm]]\nkind = \"joint\"\nprivacy = { epsilon = 8.0, delta = 1e-5 }\n\
        [[algorithm]]\nkind = \"local\"\nprivacy = { epsilon = 1.0, delta = 1e-5 }\n";
    let experiment = run(&path, "features = [\"width\", \"height\"]", algorithms).unwrap();
    assert_ne!(experiment.algorithms()[0].data_hash(), 0);
    let summary = experiment.simulate(|_, _| ()).unwrap();
    let regrets: Vec<f64> = summary.algorithms.iter().map(|a| a.final_regret.mean).collect();
    // Chance errs in two rounds of three; the data are not linear, so no algorithm gets near 0.
    assert!(regrets[0] < 900.0, "{regrets:?}");
    assert!(regrets[0] < regrets[1] && regrets[1] < 2000.0, "{regrets:?}");
    let remarks = experiment.algorithms()[1].remarks().join(" ");
    assert!(remarks.contains("flat, round, tall") && remarks.contains("must be public"));
    // In the file's own order, streamed, it is learnt just as well, and the ranges may be given.
    let ordered = "features = [\"width\", \"height\"]\norder = \"file\"\nranges = { width = [0, 2], height = [0, 96] }";
    let streamed = run(&path, ordered, "[[algorithm]]\nkind = \"linucb\"").unwrap();
    let remarks = streamed.algorithms()[0].remarks().join(" ");
    assert!(!remarks.contains("ranges of"), "{remarks}");
    let certified = run(
        &path,
        ordered,
        "[[algorithm]]\nkind = \"joint\"\nrule = \"certified\"\nprivacy = { epsilon = 4.0, delta = 1e-5 }",
    );
    let remarks = certified.unwrap().algorithms()[0].remarks().join(" ");
    assert!(remarks.contains("only if rewards are linear"), "{remarks}");
    let summary = streamed.simulate(|_, _| ()).unwrap();
    assert!(summary.algorithms[0].final_regret.mean < 900.0);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn products_and_fourier_features_are_those_of_cores_rule() {
    let linucb = "[[algorithm]]\nkind = \"linucb\"\n";
    let path = file("shapes.csv", "x,z,y\n0,1,a\n4,2,b\n1,5,a\n3,0,b\n");
    let ranges = "ranges = { x = [0, 4], z = [0, 5] }";
    let waves = "fourier = { count = 3, scale = 0.5, seed = 7 }";
    let found = run(&path, &format!("{ranges}\n{waves}\nproducts = {{ degree = 2 }}"), linucb);
    found.unwrap().algorithms()[0].trial(1, 0, &[50]).unwrap();
    let rows = Rows::open(&path).unwrap();
    let given = BTreeMap::from([("x".to_string(), (0.0, 4.0)), ("z".to_string(), (0.0, 5.0))]);
    let (fourier, products) =
        (Fourier { count: 3, scale: 0.5, seed: 7, with: None }, Products { degree: 2, with: None });
    let lines = ColumnsToml {
        features: None,
        ranges: &given,
        categories: &BTreeMap::new(),
        hashes: &BTreeMap::new(),
        missing: Missing::Refuse,
        products: Some(&products),
        fourier: Some(&fourier),
    };
    let mut columns = Columns::new(&rows, &path, lines, &["y"]).unwrap();
    columns.settle().unwrap();
    // Two numbers, three monomials, three waves of two.
    assert_eq!(columns.width(), 2 + 3 + 6);
    let row = columns.raw(&["1".into(), "5".into(), "a".into()], 2).unwrap();
    let mut rule = reticent::features::FeaturesParams::new(
        given.into_iter().map(|(name, (low, high))| (name, Encoding::Range(low, high))),
        std::iter::empty(),
    );
    (rule.constant, rule.products, rule.fourier) = (false, Some(products), Some(fourier));
    let record = reticent::features::Value::from_iter([("x", "1"), ("z", "5")]);
    let plan = rule.check().unwrap();
    let whole = plan.vector(&record, &reticent::features::Value::Missing, &mut Default::default());
    assert_eq!(row, whole);

    for (wrong, words) in [
        ("fourier = { count = 0, scale = 0.5, seed = 7 }", ["fourier.count", "0", "give 16 to 64"]),
        (
            "fourier = { count = 3, scale = -1.0, seed = 7 }",
            ["fourier.scale", "-1", "0.001 to 1000"],
        ),
        ("fourier = { count = 3000, scale = 1.0, seed = 7 }", ["dimension", "6002", "fewer"]),
        (
            "fourier = { count = 3, scale = 1.0, seed = 7, with = \"y\" }",
            ["fourier.with", "y", "leave it out"],
        ),
        ("products = { degree = 4 }", ["products.degree", "4", "2 or 3"]),
        ("categories = { x = [\"1\", \"2\", \"1\"] }", ["categories", "\"1\" twice for x", "once"]),
        ("hashes = { x = 0 }", ["buckets", "0 for x", "1 to"]),
    ] {
        let given = if wrong.starts_with('c') || wrong.starts_with('h') { "" } else { ranges };
        let error = run(&path, &format!("{given}\n{wrong}"), linucb).err().unwrap().to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{words:?}: {error}");
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn words_gaps_and_columns_that_never_change() {
    let linucb = "[[algorithm]]\nkind = \"linucb\"\n";
    let path = file("mixed.csv", "x,colour,same,y\n1,red,5,a\n2,blue,5,b\n,green,5,a\n4,,5,b\n");
    let words = "categories = { colour = [\"red\", \"green\", \"blue\"] }\nmissing = \"middle\"";
    let experiment = run(&path, words, linucb).unwrap();
    let remarks = experiment.algorithms()[0].remarks().join(" ");
    assert!(remarks.contains("never change were left out: same"), "{remarks}");
    experiment.algorithms()[0].trial(1, 0, &[50]).unwrap();
    // x, three colours and a 1 in two blocks, and the constant.
    let rows = Rows::open(&path).unwrap();
    let (ranges, categories) = (
        BTreeMap::from([("x".to_string(), (0.0, 4.0))]),
        BTreeMap::from([("colour".to_string(), vec!["red".to_string(), "blue".to_string()])]),
    );
    let features = ["x".to_string(), "colour".to_string()];
    let lines = ColumnsToml {
        features: Some(&features),
        ranges: &ranges,
        categories: &categories,
        hashes: &BTreeMap::new(),
        missing: Missing::Middle,
        products: None,
        fourier: None,
    };
    let columns = Columns::new(&rows, &path, lines, &["y"]).unwrap();
    let cells = |text: &str| text.split(',').map(String::from).collect::<Vec<_>>();
    assert_eq!(columns.raw(&cells("1,red,5,a"), 2).unwrap(), [-0.5, 1.0, 0.0]);
    assert_eq!(columns.raw(&cells("9,blue,5,a"), 2).unwrap(), [1.0, 0.0, 1.0]);
    assert_eq!(columns.raw(&cells(",,5,a"), 2).unwrap(), [0.0, 0.0, 0.0]);
    // As core's rule has it.
    assert_eq!(columns.raw(&cells("inf,red,5,a"), 2).unwrap(), [1.0, 1.0, 0.0]);
    assert_eq!(columns.raw(&cells("NaN,red,5,a"), 2).unwrap(), [0.0, 1.0, 0.0]);
    let (words, hashes) = (BTreeMap::new(), BTreeMap::from([("colour".to_string(), 4)]));
    let lines = ColumnsToml { categories: &words, hashes: &hashes, ..lines };
    let columns = Columns::new(&rows, &path, lines, &["y"]).unwrap();
    let encoder = Encoding::Hash { buckets: 4 }.check("colour").unwrap();
    for word in ["red", "blue", "a word that is not listed"] {
        let mut expected = [-0.5, 0.0, 0.0, 0.0, 0.0];
        expected[1 + encoder.encode_text(word).entry.unwrap().0] = 1.0;
        assert_eq!(columns.raw(&cells(&format!("1,{word},5,a")), 2).unwrap(), expected);
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn cells_outside_their_ranges_are_counted_for_the_holder_and_no_certificate_tells() {
    // An index without a name in front, as pandas writes it.
    let path = file("outside.csv", ",x,z,y\n0,1,5,a\n1,20,5,b\n2,-3,6,a\n3,4,99,b\n");
    let given = "features = [\"x\", \"z\"]\nranges = { x = [0, 10], z = [0, 10] }";
    let joint = "[[algorithm]]\nkind = \"joint\"\nprivacy = { epsilon = 1.0, delta = 1e-5 }";
    let experiment = run(&path, given, joint).unwrap();
    let algorithm = experiment.algorithms()[0];
    let remarks = algorithm.remarks().join(" ");
    assert!(remarks.contains("2 of x outside [0, 10], 1 of z outside [0, 10]"), "{remarks}");
    assert!(remarks.contains("for the holder of the data, not covered by the certificate"));
    let guarantee = algorithm.guarantee().unwrap();
    assert!(!format!("{guarantee} {}", guarantee.conditions().join(" ")).contains("outside"));
    let summary = experiment.simulate(|_, _| ()).unwrap();
    assert!(serde_json::to_string(&summary).unwrap().contains("2 of x outside [0, 10]"));
    assert!(summary.notes().join(" ").contains("1 of z outside"));
    let wide = given.replace("10]", "100]").replace("[0,", "[-5,");
    let remarks = run(&path, &wide, joint).unwrap().algorithms()[0].remarks().join(" ");
    assert!(!remarks.contains("outside"), "{remarks}");
    let unnamed = run(&path, "", joint).err().unwrap().to_string();
    assert!(unnamed.contains("column 1: got no name") && unnamed.contains("features"), "{unnamed}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn what_cannot_be_a_bandit_is_named_by_line() {
    let linucb = "[[algorithm]]\nkind = \"linucb\"\n";
    let refuse = |name: &str, text: &str, more: &str, algorithms: &str, words: &[&str]| {
        let path = file(name, text);
        let error = run(&path, more, algorithms).err().unwrap().to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
        std::fs::remove_file(path).unwrap();
    };
    refuse("a.csv", "x,y\n1,a\nz,b\n", "", linucb, &["line 3", "x: got \"z\"", "categories"]);
    refuse("b.csv", "x,y\n1,a\n2,\n", "", linucb, &["line 3", "y: missing"]);
    refuse("c.csv", "x,y\n1,a\n2,a\n", "", linucb, &["1 different values"]);
    refuse("d.csv", "x,y\n1,a\n2\n", "", linucb, &["line 3", "1 cells; expected 2"]);
    refuse("e.csv", "x,y\n1,a\n2,b\n", "label = \"z\"", linucb, &["column: got \"z\""]);
    let many: String = (0..200).map(|i| format!("{i},{i}.5\n")).collect();
    refuse("f.csv", &format!("x,y\n{many}"), "", linucb, &["101 different values or more"]);
    let known = "[[algorithm]]\nkind = \"local\"\nmethod = { known_gram = { reports = 100 } }\nprivacy = { epsilon = 1.0, delta = 1e-5 }";
    refuse("g.csv", "x,y\n1,a\n2,b\n", "", known, &["method: got known_gram", "is not known"]);
    refuse("h.csv", "x,y\n1,a\n,b\n", "", linucb, &["line 3", "x: missing", "middle"]);
    let colours = "categories = { x = [\"red\"] }";
    refuse("i.csv", "x,y\nred,a\nblue,b\n", colours, linucb, &["line 3", "x: got \"blue\""]);
    let none = "hashes = { x = 0 }";
    refuse("m.csv", "x,y\nred,a\nblue,b\n", none, linucb, &["buckets: got 0 for x"]);
    let both = "hashes = { x = 8 }\ncategories = { x = [\"red\"] }";
    refuse("n.csv", "x,y\nred,a\nblue,b\n", both, linucb, &["features: got x", "one meaning"]);
    refuse("j.csv", "x,y\n3,a\n3,b\n", "", linucb, &["features: got x, which never change"]);
    let unknown = "ranges = { z = [0, 1] }";
    refuse("k.csv", "x,y\n1,a\n2,b\n", unknown, linucb, &["ranges: got z", "no feature"]);
    let moving = "[environment.modifiers]\nchange_every = 5";
    refuse("l.csv", "x,y\n1,a\n2,b\n", moving, linucb, &["change_every", "as they are"]);
}
