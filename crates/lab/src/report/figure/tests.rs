use super::{
    draw::{HEIGHT, WIDTH},
    range::place,
    *,
};
use crate::Error;

fn figure(points: Vec<(f64, f64)>) -> Figure {
    let line = Series {
        name: "tree".into(),
        colour: 0,
        band: points.iter().map(|&(_, y)| (y - 0.1, y + 0.1)).collect(),
        points,
        ..Series::default()
    };
    let axis = |label: &str| (label.to_string(), Scale::Logarithmic);
    Figure::of("noise".into(), axis("round"), axis("deviation"), vec![line])
}

#[test]
fn a_figure_shows_its_labels_and_its_line() {
    let svg = figure(vec![(1.0, 2.0), (10.0, 3.0), (100.0, 4.0)]).picture().unwrap().svg;
    for word in ["<svg", "noise", "round", "deviation", "tree", "polyline"] {
        assert!(svg.contains(word), "{word} is missing");
    }
}

#[test]
fn axes_have_round_numbers() {
    let labels = |scale: Scale, low: f64, high: f64| -> String {
        let ticks = scale.ticks((low, high)).into_iter();
        ticks.map(|tick| scale.label(tick)).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(labels(Scale::Linear, 0.0, 1.0), "0 0.2 0.4 0.6 0.8 1");
    assert_eq!(labels(Scale::Linear, -3.0, 45_000.0), "0 10000 20000 30000 40000");
    let log = |low: f64, high: f64| labels(Scale::Logarithmic, low.log10(), high.log10());
    // The ends have labels too, where there is room.
    assert_eq!(log(0.25, 8.0), "0.3 0.5 1 2 5 8");
    assert_eq!(log(1.0, 5000.0), "1 10 100 1000 5000");
    assert_eq!(log(1.0, 1100.0), "1 10 100 1000");
    assert_eq!(log(1.0, 1e5), "1 10 100 1000 10000 1e5");
    assert_eq!(log(0.9, 1e12), "1 100 10000 1e6 1e8 1e10 1e12");
}

#[test]
fn a_picture_has_the_same_line_in_its_colour() {
    let drawn = figure(vec![(1.0, 2.0), (10.0, 3.0), (100.0, 4.0)]);
    let bytes = drawn.picture().unwrap().png().unwrap();
    let pixels = tiny_skia::Pixmap::decode_png(&bytes).unwrap();
    let (width, height) = drawn.size();
    assert!(width == WIDTH && height > HEIGHT, "{width} x {height}");
    assert_eq!((pixels.width(), pixels.height()), (2 * width, 2 * height));
    let count = |colour: [u8; 3]| {
        let drawn = pixels.pixels().iter().map(|p| [p.red(), p.green(), p.blue(), p.alpha()]);
        drawn.filter(|p| p[..3] == colour && p[3] == 255).count()
    };
    // The line is four points wide and crosses most of the drawing; text is dark; the rest is background.
    assert!(count([0, 114, 178]) > 4 * WIDTH as usize, "{}", count([0, 114, 178]));
    assert!(count([0, 0, 0]) > 500 && count([255, 255, 255]) > pixels.pixels().len() / 2);
}

#[test]
fn nothing_to_draw_is_an_error_and_odd_values_are_left_out() {
    assert!(matches!(figure(vec![]).picture(), Err(Error::Figure { .. })));
    assert!(matches!(
        figure(vec![(0.0, -1.0), (f64::NAN, 1.0)]).picture(),
        Err(Error::Figure { .. })
    ));
    assert!(figure(vec![(1.0, 1.0), (0.0, 1.0)]).picture().is_ok());
}

#[test]
fn a_band_is_drawn_to_its_ends_and_cut_only_at_the_edge() {
    let points = vec![(1.0, 10.0), (10.0, 100.0), (100.0, 1000.0)];
    let mut drawn = figure(points.clone());
    // A lower end at or below zero has no place on a logarithmic axis: the band runs to the edge, and the point stays.
    drawn.panels[0].series[0].band = vec![(-5.0, 20.0), (0.0, 200.0), (900.0, 1100.0)];
    let placed = place(&drawn.panels[0].series[0], drawn.x.1, drawn.y.1);
    assert_eq!(placed.len(), 3);
    assert_eq!((placed[0].2, placed[1].2), (f64::NEG_INFINITY, f64::NEG_INFINITY));
    // Bands were once limited to 0.9 of the mean; this one has 0.95 and is drawn in full.
    drawn.panels[0].series[0].band = vec![(0.5, 20.0), (5.0, 200.0), (50.0, 1100.0)];
    let placed = place(&drawn.panels[0].series[0], drawn.x.1, drawn.y.1);
    assert!(placed.iter().zip(points).all(|(p, (_, y))| (p.2 - (0.05 * y).log10()).abs() < 1e-12));
    assert!(drawn.picture().unwrap().svg.contains("polygon"));
    // A band that is far wider than the lines does not flatten them.
    drawn.panels[0].series[0].band = vec![(1e-9, 1e9); 3];
    let ranges = drawn.ranges().unwrap();
    assert!(ranges.y.0 > -1.5 && ranges.y.1 < 5.5, "{:?}", ranges.y);
}

/// Lines from 100 to 300 on a linear axis, with this band.
fn with_band(band: (f64, f64)) -> Figure {
    let mut drawn = figure(vec![(1.0, 100.0), (10.0, 200.0), (100.0, 300.0)]);
    drawn.y.1 = Scale::Linear;
    drawn.panels[0].series[0].band = vec![band; 3];
    drawn
}

#[test]
fn an_axis_holds_the_bands_or_the_caption_says_that_they_are_cut() {
    let cut = |drawn: &Figure| drawn.picture().unwrap().svg.contains("are cut there");
    // Three times the range of the lines, most of it above.
    let drawn = with_band((50.0, 640.0));
    let (low, high) = drawn.ranges().unwrap().y;
    assert!(low < 50.0 && high > 640.0 && !cut(&drawn), "{low} {high}");
    let drawn = with_band((50.0, 6400.0));
    let (low, high) = drawn.ranges().unwrap().y;
    assert!(low < 50.0 && (600.0..1000.0).contains(&high) && cut(&drawn), "{low} {high}");
    // The band of a level is drawn in full.
    let mut level = with_band((50.0, 6400.0));
    level.panels[0].series[0].points.iter_mut().for_each(|point| point.1 = 100.0);
    assert!(level.ranges().unwrap().y.1 > 6400.0 && !cut(&level));
    // A lower end below zero has no place on a logarithmic axis.
    let mut below = with_band((-1.0, 400.0));
    below.y.1 = Scale::Logarithmic;
    assert!(cut(&below));
}

#[test]
fn an_axis_of_values_above_zero_does_not_begin_below_it() {
    assert_eq!(with_band((0.0, 320.0)).ranges().unwrap().y.0, 0.0);
    assert!(with_band((-1.0, 320.0)).ranges().unwrap().y.0 < -1.0);
}

#[test]
fn few_measured_values_are_the_labels_of_their_axis() {
    let mut drawn = figure([0.25, 0.5, 1.0, 2.0, 4.0, 8.0].map(|x| (x, 1.0)).to_vec());
    drawn.panels[0].series[0].line = Line::Marked;
    let labels = |drawn: &Figure| -> Vec<String> {
        let ticks = drawn.ranges().unwrap().x_ticks;
        ticks.into_iter().map(|tick| drawn.x.1.label(tick)).collect()
    };
    assert_eq!(labels(&drawn), ["0.25", "0.5", "1", "2", "4", "8"]);
    // Labels that would touch are round numbers instead.
    drawn.panels[0].series[0].points[1].0 = 0.26;
    assert_eq!(labels(&drawn), ["0.3", "0.5", "1", "2", "5", "8"]);
}

#[test]
fn letters_that_the_font_lacks_do_not_stop_a_figure() {
    let mut drawn = figure(vec![(1.0, 2.0), (10.0, 3.0)]);
    drawn.title = "\u{10fffd} & 試験".into();
    let picture = drawn.picture().unwrap();
    assert!(picture.svg.contains("font-family=\"sans-serif\""), "a viewer chooses the font");
    for format in [Format::Svg, Format::Png] {
        assert!(picture.contents(format).unwrap().len() > 1000, "{format:?}");
    }
}

#[test]
fn a_long_name_has_several_lines_and_a_caption_fills_its_width() {
    let mut drawn = figure(vec![(1.0, 2.0), (10.0, 3.0)]);
    drawn.panels[0].series[0].name = "a name that says everything ".repeat(8);
    let short = drawn.panels[0].series[0].clone();
    drawn.panels[0].series.push(Series { name: "試".repeat(90), ..short });
    let legend = drawn.legend();
    for entry in &legend {
        let [left, _, width, height] = entry.place;
        assert!(left + width <= WIDTH as i32 && height > 30, "{:?}", entry.place);
    }
    assert!(legend[1].place[1] >= legend[0].place[1] + legend[0].place[3]);
    let words = "the caption of a figure, in small print ".repeat(9);
    let lines = fonts::wrapped(&words, below::SMALL, WIDTH - 32);
    let widths: Vec<u32> = lines.iter().map(|line| fonts::width(line, below::SMALL)).collect();
    assert!(
        widths[..lines.len() - 1].iter().all(|width| (700..=828).contains(width)),
        "{widths:?}"
    );
    assert!(lines[0].chars().count() > 150, "{}", lines[0]);
}

#[test]
fn values_are_in_named_rows_and_lines_without_a_name_are_not_in_the_legend() {
    let row = |name: &str, index: usize, value: f64| Series {
        name: name.into(),
        colour: index,
        line: Line::Interval,
        points: vec![(value, -(index as f64))],
        band: vec![(value - 0.1, value + 0.1)],
        ..Series::default()
    };
    let level = Series {
        line: Line::Dashed,
        points: vec![(0.3, 0.5), (0.3, -1.5)],
        band: Vec::new(),
        ..row("the log", 2, 0.3)
    };
    let series = vec![row("one", 0, 0.4), row("two", 1, 0.5), level];
    let axes = (("value".to_string(), Scale::Linear), (String::new(), Scale::Rows));
    let mut drawn = Figure::of("clicks".into(), axes.0, axes.1, series);
    let svg = drawn.picture().unwrap().svg;
    for word in ["one", "two", "the log", "circle", "polyline"] {
        assert!(svg.contains(word), "{word} is missing");
    }
    assert_eq!(drawn.legend().len(), 1);
    // A row without a value still has its name.
    drawn.panels[0].series[1].points[0].0 = f64::NAN;
    assert!(drawn.picture().unwrap().svg.contains("two"));
    // Panels have the same rows, which are as high as in one panel.
    drawn.panels.push(drawn.panels[0].clone());
    assert_eq!(drawn.rows(), ["one", "two"]);
}

#[test]
fn panels_share_axes_and_a_title_can_be_left_out() {
    let mut drawn = figure(vec![(1.0, 2.0), (10.0, 3.0), (100.0, 4.0)]);
    let mut second = drawn.panels[0].clone();
    second.title = "second panel".into();
    second.series[0].points[0].1 = 1e-6;
    second.series[0].line = Line::Marked;
    drawn.panels.push(second);
    drawn.shows_title = false;
    drawn.caption = "some words ".repeat(40);
    let svg = drawn.picture().unwrap().svg;
    let (head, drawing) = svg.split_once('\n').unwrap();
    assert!(drawing.contains("second panel") && !drawing.contains("noise"));
    assert!(head.contains("role=\"img\" aria-label=\"noise\""), "{head}");
    assert_eq!(svg.matches("tree").count(), 1, "one legend");
    // The axis of the first panel has room for the second one's values.
    assert_eq!(svg.matches("1e-6").count(), 2, "both have the same labels");
    assert_eq!(svg.matches("some").count(), 40, "the caption is in lines");
}

#[test]
fn colours_of_a_grid_are_in_order() {
    let dark = |colour: usize, ramp: f64| {
        let line = Series { colour, ramp: Some(ramp), ..Series::default() };
        let plotters::style::RGBColor(red, green, blue) = colours::colour(&line);
        0.3 * f64::from(red) + 0.59 * f64::from(green) + 0.11 * f64::from(blue)
    };
    for colour in 0..9 {
        let all: Vec<f64> = (0..=20).map(|step| dark(colour, f64::from(step) / 20.0)).collect();
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{colour}: {all:?}");
        assert!(all[20] - all[0] > 80.0, "{colour}: {all:?}");
    }
}

#[test]
fn lines_have_decimals_and_are_straight() {
    // A slow rise: on whole points it would be steps of one point.
    let points: Vec<(f64, f64)> = (0..=60).map(|i| (f64::from(i), 0.01 * f64::from(i))).collect();
    let mut drawn = figure(points);
    (drawn.x.1, drawn.y.1) = (Scale::Linear, Scale::Linear);
    drawn.panels[0].series[0].band.clear();
    let points = vec![(0.0, 40.0), (60.0, 40.0)];
    drawn.panels[0].series.push(Series { name: "far".into(), points, ..Series::default() });
    let svg = drawn.picture().unwrap().svg;
    let is_line = |line: &&str| line.starts_with("<polyline") && line.matches(',').count() == 61;
    let line = svg.lines().find(is_line);
    let listed = line.and_then(|line| line.split("points=\"").nth(1)).expect("the line");
    let heights: Vec<f64> = listed
        .trim_end_matches("\"/>")
        .split(' ')
        .map(|point| point.split_once(',').unwrap().1.parse().unwrap())
        .collect();
    let steps: Vec<f64> = heights.windows(2).map(|pair| pair[0] - pair[1]).collect();
    let rise = heights[0] - heights[60];
    assert!(rise > 3.0 && rise < 10.0, "{rise}");
    assert!(steps.iter().all(|step| (60.0 * step / rise - 1.0).abs() < 0.2), "{steps:?}");
}

#[test]
fn several_bands_are_bars_and_do_not_mix_to_grey() {
    let bands = |svg: &str| svg.matches("<polygon opacity=\"0.18\"").count();
    let one = figure(vec![(1.0, 2.0), (10.0, 3.0), (100.0, 4.0)]).picture().unwrap().svg;
    assert_eq!(bands(&one), 1);
    let several = three().picture().unwrap().svg;
    assert_eq!(bands(&several), 0, "four bands overlap");
    let bars = several.matches("stroke-width=\"1\" points").count();
    assert!(bars >= 4 * 6, "{bars} bars");
}

#[test]
fn theorems_and_references_have_dashes_of_their_own() {
    let mut drawn = three();
    let kinds = [Line::Dashed, Line::Theorem(0), Line::Theorem(1), Line::Theorem(2)];
    let lines = kinds.iter().enumerate().map(|(index, line)| Series {
        name: format!("line {index}"),
        line: *line,
        points: vec![(1.0, 1.0), (2.0, 2.0)],
        ..Series::default()
    });
    drawn.panels[0].series = lines.collect();
    let svg = drawn.picture().unwrap().svg;
    let dashes = svg.lines().filter_map(|line| line.split("stroke-dasharray=\"").nth(1));
    let mut dashes: Vec<&str> = dashes.filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(dashes.len(), 8, "each in the panel and in the legend");
    dashes.sort_unstable();
    dashes.dedup();
    assert_eq!(dashes.len(), 4, "{dashes:?}");
}

#[test]
fn every_line_has_a_key() {
    let keys = |drawn: &Figure| -> Vec<String> {
        drawn.legend().into_iter().map(|entry| entry.name).collect()
    };
    // A single line, and lines that belong to another one.
    let mut drawn = figure(vec![(1.0, 2.0), (10.0, 3.0)]);
    drawn.caption = "3 trials".into();
    assert_eq!(keys(&drawn), ["tree"]);
    let median = Series {
        name: String::new(),
        role: "median",
        line: Line::Dotted,
        ..drawn.panels[0].series[0].clone()
    };
    drawn.panels[0].series.extend([median.clone(), median]);
    assert_eq!(keys(&drawn), ["tree", "median"]);
    let svg = drawn.picture().unwrap().svg;
    assert!(svg.contains("median") && svg.contains("3 trials."), "{svg}");
    // One that the title of its panel names.
    let mut drawn = three();
    drawn.panels[0].title = "black".into();
    assert_eq!(keys(&drawn), ["tree", "black", "red"]);
    // A name that lines of two colours have is shown in grey.
    let of = |colour| Series {
        name: "epsilon = 1".into(),
        colour,
        ramp: Some(0.5),
        ..drawn.panels[0].series[0].clone()
    };
    let (red, blue) = (of(1), of(0));
    let mut drawn = three();
    drawn.panels[0].series = vec![red.clone()];
    let count = |drawn: &Figure| drawn.picture().unwrap().svg.matches(&colours::code(&red)).count();
    let alone = count(&drawn);
    drawn.panels.push(Panel { title: "other".into(), series: vec![blue] });
    assert!(count(&drawn) < alone, "the legend has another colour");
    assert_eq!(keys(&drawn), ["epsilon = 1"]);
}

/// The same line three times, by other names.
fn three() -> Figure {
    let mut drawn = figure(vec![(1.0, 2.0), (10.0, 3.0), (100.0, 4.0)]);
    for (colour, name) in [(7, "black"), (1, "red")] {
        let own = Series { name: name.into(), colour, ..drawn.panels[0].series[0].clone() };
        drawn.panels[0].series.push(own);
    }
    let beside = Series { name: String::new(), ..drawn.panels[0].series[1].clone() };
    drawn.panels[0].series.push(beside);
    drawn
}

#[test]
fn an_svg_says_what_belongs_to_which_line() {
    let (svg, values) = three().with_values().unwrap();
    assert_eq!(svg.matches("<g ").count(), svg.matches("</g>").count());
    let groups = |key: &str| svg.matches(&format!("<g data-{key}=")).count();
    // A band and a line of each, and those of the line without a name, which belongs to the black one.
    assert_eq!((groups("panel"), groups("axes"), groups("legend")), (1, 1, 3));
    assert_eq!((groups("series"), svg.matches("<g data-series=\"1\">").count()), (8, 4));
    let axes = svg.split("<g data-axes").nth(1).unwrap().split("</g>").next().unwrap();
    assert!(axes.contains("#000000") && axes.contains("deviation") && !axes.contains("tree"));
    assert_eq!(values["panels"][0]["series"][1]["series"], 1);
    assert_eq!(values["legend"][2]["name"], "red");
    assert!(!svg.contains("<rect x=\"0\" y=\"0\" width=\"3\""), "no mark is left");
}

#[test]
fn labels_of_an_axis_do_not_touch() {
    let mut drawn = three();
    drawn.panels[0].series.iter_mut().for_each(|line| line.points[2].0 = 3000.0);
    drawn.panels[0].title = "one of many".into();
    drawn.panels = vec![drawn.panels[0].clone(); 12];
    drawn.x.1 = Scale::Logarithmic;
    let ticks = drawn.ranges().unwrap().x_ticks;
    let words: Vec<String> = ticks.iter().map(|tick| drawn.x.1.label(*tick)).collect();
    assert!(words.ends_with(&["1000".into(), "3000".into()]), "{words:?}");
    let svg = drawn.picture().unwrap().svg;
    let count = |label: &str| svg.lines().filter(|line| *line == label).count();
    assert_eq!((count("1000"), count("3000")), (12, 0), "they would touch in a panel");
    // Alone there is room for both.
    drawn.panels.truncate(1);
    assert!(drawn.picture().unwrap().svg.lines().any(|line| line == "3000"));
}

#[test]
fn small_panels_fit_a_page() {
    let mut drawn = three();
    drawn.panels = vec![drawn.panels[0].clone(); 12];
    drawn.size = Some((420, 300));
    assert_eq!(drawn.width(), 840, "two beside each other");
    drawn.panels.truncate(1);
    let tall = |width| {
        let mut drawn = drawn.clone();
        drawn.panels[0].series.iter_mut().for_each(|line| line.name += " with many words");
        drawn.size = Some((width, 180));
        drawn.legend().iter().map(|entry| entry.place[3]).max().unwrap()
    };
    assert!(tall(240) <= 30, "{}", tall(240));
    drawn.size = Some((240, 180));
    assert!(drawn.height_below() < 60, "{}", drawn.height_below());
    // Dots that stand aside of their place are within the axes.
    drawn.panels[0].series[2].line = Line::Dots;
    let (low, high) = drawn.ranges().unwrap().x;
    assert!(low <= -0.05 * 2.0 && high >= 2.0 + 0.05 * 2.0, "{low} {high}");
}

#[test]
fn numbers_beside_words_from_right_to_left_stay_where_they_are() {
    let mut drawn = three();
    drawn.panels[0].series[0].name = "\u{62e}\u{644}\u{637}, 1 of 12 stuck".into();
    let svg = drawn.picture().unwrap().svg;
    assert!(svg.contains("\u{2068}\u{62e}\u{644}\u{637}\u{2069}, 1 of 12 stuck"), "{svg}");
}
