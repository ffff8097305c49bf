use super::{
    draw::{HEIGHT, LEGEND_ROW, WIDTH, place, range_with_bands},
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
    let svg = figure(vec![(1.0, 2.0), (10.0, 3.0), (100.0, 4.0)]).svg().unwrap();
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
    assert_eq!(log(0.25, 8.0), "0.5 1 2 5");
    assert_eq!(log(1.0, 1e5), "1 10 100 1000 10000 1e5");
    assert_eq!(log(0.9, 1e12), "1 100 10000 1e6 1e8 1e10 1e12");
}

#[test]
fn a_picture_has_the_same_line_in_its_colour() {
    let bytes = figure(vec![(1.0, 2.0), (10.0, 3.0), (100.0, 4.0)]).png().unwrap();
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.width, info.height), (2 * WIDTH, 2 * (HEIGHT + LEGEND_ROW)));
    let count = |colour: [u8; 3]| pixels.chunks(3).filter(|&p| p == colour).count();
    // The line is four points wide and crosses most of the drawing; text is dark; the rest is background.
    assert!(count([0, 114, 178]) > 4 * WIDTH as usize, "{}", count([0, 114, 178]));
    assert!(count([0, 0, 0]) > 500 && count([255, 255, 255]) > pixels.len() / 3 / 2);
}

#[test]
fn nothing_to_draw_is_an_error_and_odd_values_are_left_out() {
    assert!(matches!(figure(vec![]).svg(), Err(Error::Figure { .. })));
    assert!(matches!(figure(vec![(0.0, -1.0), (f64::NAN, 1.0)]).svg(), Err(Error::Figure { .. })));
    assert!(figure(vec![(1.0, 1.0), (0.0, 1.0)]).svg().is_ok());
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
    assert!(drawn.svg().unwrap().contains("polygon"));
    // A band that is far wider than the lines does not flatten them.
    drawn.panels[0].series[0].band = vec![(1e-9, 1e9); 3];
    let range =
        range_with_bands(&[place(&drawn.panels[0].series[0], drawn.x.1, drawn.y.1)]).unwrap();
    assert!(range.0 > -1.0 && range.1 < 5.0, "{range:?}");
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
    let svg = drawn.svg().unwrap();
    for word in ["one", "two", "the log", "circle", "polyline"] {
        assert!(svg.contains(word), "{word} is missing");
    }
    assert_eq!(drawn.legend().len(), 1);
    // A row without a value still has its name.
    drawn.panels[0].series[1].points[0].0 = f64::NAN;
    assert!(drawn.svg().unwrap().contains("two"));
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
    let svg = drawn.svg().unwrap();
    assert!(svg.contains("second panel") && !svg.contains("noise"));
    assert_eq!(svg.matches("tree").count(), 1, "one legend");
    // The axis of the first panel has room for the second one's values.
    assert_eq!(svg.matches("1e-6").count(), 2, "both have the same labels");
    assert_eq!(svg.matches("some").count(), 40, "the caption is in lines");
}

#[test]
fn colours_of_a_grid_are_in_order() {
    let dark = |ramp| {
        let line = Series { ramp: Some(ramp), ..Series::default() };
        let plotters::style::RGBColor(red, green, blue) = draw::colour(&line);
        0.3 * f64::from(red) + 0.59 * f64::from(green) + 0.11 * f64::from(blue)
    };
    let all: Vec<f64> = (0..=20).map(|step| dark(f64::from(step) / 20.0)).collect();
    assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{all:?}");
}
