use super::*;
use crate::{Experiment, report::figure::Format};

/// Two grids of six levels and a reference, drawn as `[figure]` says.
fn summary(figure: &str) -> Summary {
    let text = format!(
        r#"
        name = "two grids"
        rounds = 60
        trials = 8
        environment = {{ kind = "sphere", dimension = 3, arms = 5 }}
        [[algorithm]]
        name = "reference"
        kind = "linucb"
        [[algorithm]]
        name = "central"
        kind = "joint"
        privacy = {{ epsilon = [0.25, 0.5, 1, 2, 4, 8], delta = 1e-6 }}
        [[algorithm]]
        name = "local"
        kind = "local"
        privacy = {{ epsilon = [0.25, 0.5, 1, 2, 4, 8], delta = 1e-6 }}
        {figure}
        "#
    );
    Experiment::parse(&text).unwrap().simulate(|_, _| ()).unwrap()
}

fn refused(figure: &str) -> String {
    let text = format!(
        "name = \"x\"\nrounds = 9\nenvironment = {{ kind = \"sphere\", dimension = 3, arms = 5 }}\n[[algorithm]]\nkind = \"linucb\"\n[figure]\n{figure}"
    );
    Experiment::parse(&text).err().expect("refused").to_string()
}

fn named(figures: &[(String, Figure)], name: &str) -> Figure {
    figures.iter().find(|(own, _)| own == name).expect(name).1.clone()
}

#[test]
fn many_lines_are_in_panels_with_one_short_legend() {
    let figures = summary("").figures();
    let regret = named(&figures, "regret");
    let titles: Vec<&str> = regret.panels.iter().map(|panel| panel.title.as_str()).collect();
    assert_eq!(titles, ["central", "local"]);
    assert_eq!(regret.x.1, Scale::Linear, "rounds are linear unless asked");
    for panel in &regret.panels {
        let names: Vec<&str> = panel.series.iter().map(|line| line.name.as_str()).collect();
        assert!(names[0].starts_with("epsilon = 0.25"), "{names:?}");
        assert!(names.iter().any(|name| name.starts_with("reference")), "{names:?}");
        assert_eq!(panel.series.iter().filter(|line| line.ramp.is_some()).count() % 6, 0);
    }
    let svg = regret.picture().unwrap().svg;
    assert_eq!(svg.matches("epsilon = 0.25").count(), 1, "the legend has each name once");
    assert!(svg.contains("8 trials of 60 rounds") && svg.contains("reticent"), "its caption");
    // Two lines and a reference need no panels; what was measured is marked.
    let against = named(&figures, "regret-against-epsilon");
    assert_eq!(against.panels.len(), 1);
    let kinds: Vec<Line> = against.series().map(|line| line.line).collect();
    assert!(kinds.contains(&Line::Marked) && kinds.contains(&Line::Dashed), "{kinds:?}");
    let reference = against.series().find(|line| line.line == Line::Dashed).unwrap();
    assert_eq!(reference.band.len(), 2, "a reference has its interval");
}

#[test]
fn the_first_rounds_do_not_take_the_height_of_a_logarithmic_axis() {
    let mut far = summary("[figure]\nfacets = \"none\"");
    far.rounds = 6000;
    let last = far.algorithms.len() - 1;
    for (round, regret) in &mut far.algorithms[last].curve {
        (*round, regret.mean, regret.median) = (*round * 100, 1e6, 1e6);
    }
    let drawn = far.regret();
    assert_eq!((drawn.x.1, drawn.y.1), (Scale::Linear, Scale::Logarithmic));
    let lines = || drawn.series().filter(|line| !line.band.is_empty());
    assert!(lines().all(|line| line.points.len() == line.band.len()));
    let points = || drawn.series().flat_map(|line| &line.points);
    assert!(points().count() > 0 && points().all(|(round, _)| *round >= 60.0));
}

#[test]
fn the_file_says_what_is_drawn() {
    let drawn = summary(
        "[figure]\nagainst = \"round\"\nalgorithms = [\"central\"]\nfacets = \"none\"\nx_scale = \"log\"\ny_scale = \"linear\"\nspread = \"trials\"\ntitle = false\nsize = [300, 200]\nformat = [\"svg\"]",
    );
    let figures = drawn.figures();
    assert_eq!(figures.len(), 1);
    let regret = named(&figures, "regret");
    assert_eq!(
        (regret.panels.len(), regret.x.1, regret.y.1),
        (1, Scale::Logarithmic, Scale::Linear)
    );
    let thin = regret.series().filter(|line| line.line == Line::Thin).count();
    assert_eq!(thin, 6 * 8, "a line for each trial of each level");
    let svg = regret.picture().unwrap().svg;
    let (head, drawing) = svg.split_once('\n').unwrap();
    assert!(!drawing.contains("two grids") && head.contains("width=\"300\""), "{head}");
    let folder = tempfile();
    drawn.write(&folder).unwrap();
    assert!(folder.join("figures/regret.svg").exists());
    assert!(!folder.join("figures/regret.png").exists());
    // The file as run says so too.
    let again = std::fs::read_to_string(folder.join("experiment.toml")).unwrap();
    assert!(again.contains("[figure]") && again.contains("spread = \"trials\""), "{again}");
    std::fs::remove_dir_all(folder).unwrap();
}

fn tempfile() -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("reticent-figures-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

#[test]
fn trials_that_are_skewed_are_shown_by_their_quantiles() {
    let mut summary = summary("[figure]\nalgorithms = [\"central\"]");
    for one in &mut summary.algorithms {
        (one.final_regret.stuck_trials, one.final_regret.median) = (Some(0), one.final_regret.mean);
    }
    assert!(summary.regret().caption.contains("mean and its 95 % interval"));
    summary.algorithms[1].final_regret.stuck_trials = Some(1);
    let regret = summary.regret();
    assert!(regret.caption.contains("median and 5 to 95 % of the trials"), "{}", regret.caption);
    let own = &summary.algorithms[1];
    let line = regret.series().next().unwrap();
    assert_eq!(line.points.last().unwrap().1, own.curve.last().unwrap().1.median);
}

#[test]
fn what_an_experiment_does_not_have_is_refused() {
    for (figure, words) in [
        ("algorithms = [\"central\"]", "algorithms: got \"central\"; expected some of linucb"),
        ("facets = \"epsilon\"", "facets: got \"epsilon\"; expected one of algorithm, none"),
        ("against = \"delta\"", "against: got \"delta\"; expected one of round"),
        ("size = [10, 10]", "from 120 to 1000"),
        ("format = []", "expected some of svg, png"),
        (
            "title = false\nformat = [\"svg\", \"gif\"]",
            "line 8, figure, format: got `gif`; expected `svg` or `png`",
        ),
        ("format = [\"pdf\"]", "got pdf; expected svg or png; convert the SVG"),
        ("colour = 1", "colour"),
    ] {
        let error = refused(figure);
        assert!(error.contains(words) && error.starts_with("line "), "{error}");
    }
}

#[test]
fn the_page_begins_with_what_a_reader_asks() {
    let mut drawn = summary("");
    drawn.algorithms[1].final_regret.stuck_trials = Some(2);
    let html = drawn.page(&drawn.figures()).unwrap().html();
    let (first, _) = html.split_once("<svg").unwrap();
    for words in [
        "Best with a guarantee",
        "Best without",
        "differentially private",
        "2 of 8 trials are stuck",
    ] {
        assert!(first.contains(words), "{words}: {first}");
    }
    assert_eq!(html.matches("<script type=\"application/json\">").count(), drawn.figures().len());
}

#[test]
fn a_map_over_two_keys_is_a_picture_too() {
    let text = r#"
        name = "map"
        rounds = 60
        trials = 3
        environment = { kind = "sphere", dimension = 3, arms = [3, 5] }
        [[algorithm]]
        kind = "joint"
        privacy = { epsilon = [1.0, 4.0], delta = 1e-6 }
    "#;
    let mut summary = Experiment::parse(text).unwrap().simulate(|_, _| ()).unwrap();
    let map = sweep::heat_maps(&summary).remove(0);
    let svg = map.picture().unwrap().svg;
    assert!(svg.contains("final regret by arms and epsilon"), "{svg}");
    assert!(svg.contains("mean final regret ± its standard error"), "{svg}");
    assert!(svg.contains("3 trials of 60 rounds") && svg.contains("reticent"), "its caption");
    summary.drawing.title = false;
    let untitled = sweep::heat_maps(&summary).remove(0).picture().unwrap().svg;
    let (_, untitled) = untitled.split_once('\n').unwrap();
    assert!(!untitled.contains("final regret by"), "a title can be left out");
    summary.drawing.title = true;
    let of = |estimate: &Estimate| format!("{:.1} ± {:.1}", estimate.mean, estimate.standard_error);
    for one in &summary.algorithms {
        assert!(svg.contains(&of(&one.final_regret)));
    }
    // The worst cell is the darkest one.
    let worst = summary.algorithms.iter().map(|one| &one.final_regret);
    let worst = worst.max_by(|one, other| one.mean.total_cmp(&other.mean)).unwrap();
    assert_eq!(map.shade(worst), (0, 114, 178, "#fff"));
    assert!(map.picture().unwrap().png().unwrap().starts_with(b"\x89PNG"));
    // The scale of the colours is shown, as a bar and in words.
    let ends = map.range();
    for end in [format!("{:.1}\n", ends.0), format!("{:.1}, on a logarithmic scale", ends.1)] {
        assert!(svg.contains(&end), "{end}");
    }
    let colours = svg.lines().filter(|line| line.starts_with("<rect") && line.contains("fill=\"#"));
    assert!(colours.count() >= 1 + 4 + 32, "background, cells and bar");
    let html = summary.page(&[]).unwrap().html();
    assert!(html.contains("linear-gradient(to right,rgb(255,255,255)"), "the bar of the report");
    // Only what is asked for.
    for against in ["round", "epsilon", "arms"] {
        summary.drawing.against = Some(against.into());
        assert!(sweep::heat_maps(&summary).is_empty(), "{against} alone is asked for");
    }
    summary.drawing.against = None;
    summary.drawing.algorithms = vec!["local".into()];
    assert!(sweep::heat_maps(&summary).is_empty());
    // Panels of one line each still have names in their legend.
    summary.drawing = super::super::FigureToml::default();
    summary.drawing.facets = Some("algorithm".into());
    summary.algorithms.iter_mut().for_each(|one| one.labels.retain(|label| label.key == "arms"));
    summary.algorithms.iter_mut().for_each(|one| one.final_regret.stuck_trials = Some(1));
    let (_, drawn) = sweep::figures(&summary).remove(0);
    let names: Vec<&str> = drawn.series().map(|line| line.name.as_str()).collect();
    assert!(names[0].starts_with("joint, "), "{names:?}");
}

/// Keys of a file that a figure cannot show do not stop it.
#[test]
fn figures_that_have_nothing_to_show_as_asked_are_drawn_otherwise() {
    for figure in [
        "[figure]\nalgorithms = [\"reference\"]\nfacets = \"algorithm\"",
        "[figure]\nalgorithms = [\"reference\"]\nfacets = \"epsilon\"",
        "[figure]\nfacets = \"epsilon\"\nagainst = \"epsilon\"",
        "[figure]\nfacets = \"epsilon\"\nsize = [1000, 1000]",
    ] {
        for (name, drawn) in summary(figure).figures() {
            assert!(drawn.picture().is_ok(), "{name}: {figure}");
        }
    }
    let mut nothing = summary("[figure]\ny_scale = \"log\"\nfacets = \"none\"");
    for one in &mut nothing.algorithms {
        one.curve.iter_mut().for_each(|(_, regret)| *regret = Estimate::of(&[0.0]));
    }
    assert!(nothing.regret().picture().is_ok(), "a regret of zero on a logarithmic axis");
}

#[test]
fn a_picture_that_is_too_large_is_refused() {
    let mut drawn = summary("").regret();
    drawn.size = Some((4000, 4000));
    assert!(
        drawn
            .picture()
            .unwrap()
            .png()
            .unwrap_err()
            .to_string()
            .contains("; expected at most 1.1e8 for a PNG; ")
    );
}

#[test]
fn the_best_one_has_a_value_and_a_warning_keeps_its_name() {
    let mut drawn = summary("");
    drawn.algorithms[1].final_regret.median = f64::NAN;
    drawn.algorithms[2].name = "central (1, 1e-6)".into();
    let html = drawn.page(&drawn.figures()).unwrap().html();
    let (first, _) = html.split_once("<svg").unwrap();
    assert!(!first.contains("NaN"), "{first}");
    assert!(first.contains("central (1, 1e-6): TOO FEW PEOPLE"), "{first}");
}

/// A grid of environments, with a learner that has a grid of its own and one that has none.
fn environments(arms: &str, figure: &str) -> Summary {
    let text = format!(
        r#"
        name = "environments"
        rounds = 60
        trials = 8
        environment = {{ kind = "sphere", dimension = 3, arms = {arms} }}
        [[algorithm]]
        name = "reference"
        kind = "linucb"
        [[algorithm]]
        name = "central"
        kind = "joint"
        privacy = {{ epsilon = [0.5, 1, 2], delta = 1e-6 }}
        {figure}
        "#
    );
    Experiment::parse(&text).unwrap().simulate(|_, _| ()).unwrap()
}

#[test]
fn a_reference_stands_beside_the_lines_of_its_environment() {
    let all = environments("[3, 5, 7, 9]", "");
    let figure = named(&all.figures(), "regret-against-epsilon");
    let titles: Vec<&str> = figure.panels.iter().map(|panel| panel.title.as_str()).collect();
    assert_eq!(titles, ["arms = 3", "arms = 5", "arms = 7", "arms = 9"]);
    for (index, panel) in figure.panels.iter().enumerate() {
        let level =
            panel.series.iter().find(|line| line.line == Line::Dashed).expect("a reference");
        assert!(level.name.starts_with("reference"), "{}", level.name);
        let own = all.algorithms.iter().filter(|one| one.series == "reference").nth(index).unwrap();
        let regret = &own.final_regret;
        assert!([regret.mean, regret.median].contains(&level.points[0].1), "of its environment");
    }
    // Against the environment's own key, too many lines for one panel have it in each.
    let mut faceted = environments("[3, 5]", "");
    faceted.drawing.facets = Some("epsilon".into());
    let figure = named(&faceted.figures(), "regret-against-arms");
    let titles: Vec<&str> = figure.panels.iter().map(|panel| panel.title.as_str()).collect();
    assert_eq!(titles, ["epsilon = 0.5", "epsilon = 1", "epsilon = 2"]);
    for panel in &figure.panels {
        assert!(panel.series.iter().any(|line| line.name.starts_with("reference")));
    }
    // Against rounds too, and it differs from the lines of the grid. An algorithm has one colour in all figures.
    let figure = named(&all.figures(), "regret");
    assert_eq!(figure.panels.len(), 4);
    for panel in &figure.panels {
        let (lines, levels): (Vec<&Series>, Vec<_>) = panel
            .series
            .iter()
            .filter(|line| !line.name.is_empty())
            .partition(|line| line.ramp.is_some());
        assert_eq!((lines.len(), levels.len()), (3, 1), "{}", panel.title);
        assert!(lines.iter().all(|line| line.colour == 1), "shades of one colour");
        assert!(levels[0].line == Line::Dashed && levels[0].colour == 0);
    }
    // In one panel each has a name and a colour of its own.
    let figure = named(&environments("[3, 5]", "").figures(), "regret-against-epsilon");
    assert_eq!(figure.panels.len(), 1);
    let named = || figure.series().filter(|line| !line.name.is_empty());
    let mut colours: Vec<(usize, Option<u64>)> =
        named().map(|line| (line.colour, line.ramp.map(f64::to_bits))).collect();
    assert_eq!(colours.len(), 4);
    colours.sort_unstable();
    colours.dedup();
    assert_eq!(colours.len(), 4, "{:?}", named().map(|line| &line.name).collect::<Vec<_>>());
}

#[test]
fn the_best_learner_is_named_for_each_environment() {
    let all = environments("[3, 5]", "");
    let html = all.page(&all.figures()).unwrap().html();
    let (first, _) = html.split_once("<svg").unwrap();
    for words in ["Best with a guarantee, arms = 3", "Best with a guarantee, arms = 5"] {
        let (_, answer) = first.split_once(words).unwrap_or_else(|| panic!("{words}: {first}"));
        let arms = &words[words.len() - 8..];
        let (answer, _) = answer.split_once("</dd>").unwrap();
        assert!(answer.contains(&format!("[{arms}]")), "{answer}");
    }
    let many = environments("[3, 4, 5, 6, 7]", "");
    let html = many.page(&[]).unwrap().html();
    assert!(html.contains("3 more, in the table below"), "the rest is counted");
}

#[test]
fn lines_that_are_left_out_are_named() {
    let text = "[figure]\nfacets = \"algorithm\"\nalgorithms = [\"central\"]";
    let drawn = summary(text);
    let nothing = named(&drawn.figures(), "regret");
    assert!(!nothing.caption.contains("Not drawn"), "{}", nothing.caption);
    let levels: Vec<String> = (1..=26).map(|level| level.to_string()).collect();
    let text = format!(
        "name = \"many\"\nrounds = 30\ntrials = 3\nenvironment = {{ kind = \"sphere\", dimension = 3, arms = 5 }}\n[[algorithm]]\nkind = \"joint\"\nprivacy = {{ epsilon = [{}], delta = 1e-6 }}\n[figure]\nfacets = \"algorithm\"",
        levels.join(", ")
    );
    let many = Experiment::parse(&text).unwrap().simulate(|_, _| ()).unwrap();
    let regret = named(&many.figures(), "regret");
    let words = "Not drawn (all rows are in results.csv): epsilon = 13; epsilon = 25";
    assert!(regret.caption.contains(words), "{}", regret.caption);
    assert_eq!(regret.series().filter(|line| line.name.starts_with("epsilon")).count(), 24);
}

#[test]
fn trials_against_a_key_are_dots() {
    let drawn = summary("[figure]\nagainst = \"epsilon\"\nspread = \"trials\"");
    let figure = named(&drawn.figures(), "regret-against-epsilon");
    let dots: Vec<&Series> = figure.series().filter(|line| line.line == Line::Dots).collect();
    assert_eq!(dots.len(), 2);
    assert!(dots.iter().all(|line| line.points.len() == 6 * 8), "every trial of every level");
    assert!(figure.caption.contains("line: median"), "{}", figure.caption);
    assert!(dots.iter().all(|line| line.role == "one trial"), "for the legend");
    assert!(figure.picture().is_ok());
}

#[test]
fn every_format_is_written_and_an_old_one_removed() {
    let folder = tempfile().with_extension("formats");
    let _ = std::fs::remove_dir_all(&folder);
    let has = |name: &str| folder.join("figures").join(name).exists();
    let mut drawn = summary("[figure]\nagainst = \"round\"\nformat = [\"svg\"]");
    drawn.write(&folder).unwrap();
    assert!(has("regret.svg") && !has("regret.png"));
    drawn.drawing.format = vec![Format::Png];
    drawn.write(&folder).unwrap();
    assert!(!has("regret.svg") && has("regret.png"));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn letters_that_a_picture_cannot_show_are_a_warning() {
    let mut drawn = summary("");
    let letters =
        |drawn: &Summary| drawn.warnings().into_iter().find(|one| one.contains("Noto Sans has no"));
    assert_eq!(letters(&drawn), None);
    drawn.name = "mean of \u{10fffd}".into();
    let warning = letters(&drawn).expect("a warning");
    assert!(warning.contains("no \u{10fffd}: a PNG shows boxes"), "{warning}");
    assert!(warning.contains("format = [\"svg\"]"), "{warning}");
    drawn.drawing.format = vec![Format::Svg];
    assert_eq!(letters(&drawn), None, "a viewer has its own fonts");
}
