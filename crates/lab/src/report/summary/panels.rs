//! Regret of many algorithms against rounds: panels whose lines differ in one key of the grid, or a panel for each algorithm.

use super::{
    AlgorithmSummary, Summary,
    drawing::{MOST_LINES, Spread},
    figures::{MOST_LINES_OF_PANEL, MOST_PANELS, lines},
    sweep::distinct,
};
use crate::{
    algorithm::{Label, joined},
    report::{
        estimate::stuck_words,
        figure::{Panel, Series},
    },
};

/// The key that the lines of a panel differ in: the one of an algorithm's grid that has the most values. None if there is no such grid, or many algorithms beside it.
pub(super) fn key_of_lines<'a>(drawn: &[&'a AlgorithmSummary]) -> Option<&'a str> {
    let alone = drawn.iter().filter(|one| own(one).is_empty());
    if distinct(alone.map(|one| &one.series)).len() > MOST_LINES {
        return None;
    }
    let labels = || drawn.iter().flat_map(|one| own(one));
    let values = |key: &str| distinct(labels().filter(|label| label.key == key)).len();
    let keys = distinct(labels().map(|label| label.key.as_str()));
    // The first one of several.
    keys.into_iter().rev().max_by_key(|key| values(key))
}

/// The coordinates of an algorithm that are not the environment's, which come first.
fn own(one: &AlgorithmSummary) -> &[Label] {
    &one.labels[one.environment.len()..]
}

impl Summary {
    /// Panels whose lines differ in this key, with algorithms outside the grid as references in each; and what is not drawn.
    pub(super) fn by_key(
        &self,
        drawn: &[&AlgorithmSummary],
        spread: Option<Spread>,
        key: &str,
    ) -> (Vec<Panel>, Vec<String>) {
        let is_of = |label: &&Label| label.key == key;
        // What the lines of a panel have in common.
        let common = |one: &AlgorithmSummary| -> Vec<Label> {
            match one.labels.iter().any(|label| is_of(&label)) {
                true => one.labels.iter().filter(|label| !is_of(label)).cloned().collect(),
                false => one.environment.clone(),
            }
        };
        let in_grid = |one: &&AlgorithmSummary| !own(one).is_empty();
        let places = |cells: &[&AlgorithmSummary]| {
            let grid = cells.iter().copied().filter(in_grid);
            distinct(grid.map(|one| (one.series.clone(), common(one))))
        };
        // Of one key with many values the first ones are drawn.
        let several_keys = |cells: &[&AlgorithmSummary]| {
            let labels = || cells.iter().flat_map(|one| &one.labels).filter(|l| l.key != key);
            let keys = distinct(labels().map(|label| &label.key)).into_iter();
            let values = |key: &String| {
                distinct(labels().filter(|l| l.key == *key).map(|label| &label.value)).len()
            };
            keys.filter(|key| values(key) > 1).count() > 1
        };
        let too_many = |cells: &[&AlgorithmSummary]| {
            places(cells).len() > self.most_panels() && several_keys(cells)
        };
        let (drawn, mut left_out) = at_one_value(drawn.to_vec(), key, too_many);
        let mut places = places(&drawn);
        let several = distinct(places.iter().map(|(series, _)| series)).len() > 1;
        let title = |(series, common): &(String, Vec<Label>)| match joined(common) {
            rest if rest.is_empty() => series.clone(),
            rest if several => format!("{series}, {rest}"),
            rest => rest,
        };
        let name = |one: &AlgorithmSummary| {
            let common = common(one);
            let rest: Vec<Label> =
                one.labels.iter().filter(|label| !common.contains(label)).cloned().collect();
            match several || common.is_empty() {
                true => joined(&rest),
                false => format!("{}, {}", one.series, joined(&rest)),
            }
        };
        let (grid, references): (Vec<&AlgorithmSummary>, Vec<_>) =
            drawn.into_iter().partition(in_grid);
        let names = distinct(grid.iter().map(|one| name(one)));
        let kept = thinned(&names);
        left_out.extend(places.split_off(places.len().min(self.most_panels())).iter().map(title));
        left_out.extend(names.into_iter().filter(|name| !kept.contains(name)));
        let levels =
            distinct(references.iter().map(|one| (without_environment(one), one.series.clone())));
        let place = |names: &[String], name: &String| names.iter().position(|one| one == name);
        // A name counts the stuck trials of all panels.
        let grid_stuck = |own: &String| {
            stuck_words(grid.iter().filter(|one| name(one) == *own).map(|one| &one.final_regret))
        };
        let level_stuck = |own: &String| {
            let alike = references.iter().filter(|one| without_environment(one) == *own);
            stuck_words(alike.map(|one| &one.final_regret))
        };
        let panel = |at: &(String, Vec<Label>)| {
            let mut series = Vec::new();
            for one in grid.iter().filter(|one| one.series == at.0 && common(one) == at.1) {
                let name = name(one);
                let Some(place) = place(&kept, &name) else { continue };
                let name = format!("{name}{}", grid_stuck(&name));
                let look = self.look(one, name, (place, kept.len()));
                series.extend(lines(one, &look, spread, kept.len() <= 3));
            }
            let beside =
                |one: &&&AlgorithmSummary| one.environment.iter().all(|l| at.1.contains(l));
            for one in references.iter().filter(beside) {
                let name = without_environment(one);
                let look = self.reference_look(one, &name, &levels);
                let look = Series { name: format!("{name}{}", level_stuck(&name)), ..look };
                series.extend(lines(one, &look, spread, false));
            }
            Panel { title: title(at), series }
        };
        (places.iter().map(panel).collect(), left_out)
    }

    /// As few panels as hold all algorithms, none too many, with the one that lost least in each; and what is not drawn.
    pub(super) fn in_parts(
        &self,
        drawn: &[&AlgorithmSummary],
        spread: Option<Spread>,
    ) -> (Vec<Panel>, Vec<String>) {
        let most = MOST_PANELS * MOST_LINES;
        let left_out = drawn.iter().skip(most).map(|one| one.name.clone()).collect();
        let drawn = &drawn[..drawn.len().min(most)];
        let loss = |one: &AlgorithmSummary| one.final_regret.median;
        let finite = drawn.iter().filter(|one| loss(one).is_finite());
        let best = finite.min_by(|one, other| loss(one).total_cmp(&loss(other)));
        let name =
            |one: &AlgorithmSummary| format!("{}{}", one.name, stuck_words([&one.final_regret]));
        let panel = |own: &[&AlgorithmSummary]| {
            let mut series = Vec::new();
            for one in own {
                let look = self.look(one, name(one), (0, 1));
                series.extend(lines(one, &look, spread, false));
            }
            if let Some(best) = best.filter(|best| own.iter().all(|one| one.name != best.name)) {
                let look = self.look(best, name(best), (0, 1));
                let line = lines(best, &look, spread, false).into_iter();
                series.extend(
                    line.filter(|line| !line.name.is_empty())
                        .map(|line| Series { band: Vec::new(), ..line }),
                );
            }
            Panel { title: String::new(), series }
        };
        let panels = drawn.len().div_ceil(MOST_LINES).max(1);
        (drawn.chunks(drawn.len().div_ceil(panels).max(1)).map(panel).collect(), left_out)
    }
}

/// The name of an algorithm, of which the panel says the environment.
fn without_environment(one: &AlgorithmSummary) -> String {
    let suffix = format!(" [{}]", joined(&one.environment));
    one.name.strip_suffix(&suffix).unwrap_or(&one.name).to_string()
}

/// Fewer points of a grid, among which lines can be compared: while there are too many, the key with the fewest values, but for `kept`, has its middle value only. And words on
/// what is missing.
pub(super) fn at_one_value<'a>(
    mut cells: Vec<&'a AlgorithmSummary>,
    kept: &str,
    too_many: impl Fn(&[&AlgorithmSummary]) -> bool,
) -> (Vec<&'a AlgorithmSummary>, Vec<String>) {
    let mut words = Vec::new();
    while too_many(&cells) {
        let labels = || cells.iter().flat_map(|one| &one.labels).filter(|l| l.key != kept);
        let keys = distinct(labels().map(|label| &label.key)).into_iter();
        let values = |key: &String| distinct(labels().filter(|l| l.key == *key).map(|l| &l.value));
        let several = keys.map(|key| (key, values(key))).filter(|(_, values)| values.len() > 1);
        let Some((key, values)) = several.min_by_key(|(_, values)| values.len()) else { break };
        let only = Label { key: key.clone(), value: values[values.len() / 2].clone() };
        cells.retain(|one| one.labels.iter().all(|l| l.key != only.key || *l == only));
        words.push(format!("{} other than {}", only.key, only.value));
    }
    (cells, words)
}

/// At most as many of these as a panel has room for, from the first to the last.
pub(super) fn thinned(names: &[String]) -> Vec<String> {
    let many = names.len();
    if many <= MOST_LINES_OF_PANEL {
        return names.to_vec();
    }
    let last = MOST_LINES_OF_PANEL - 1;
    (0..MOST_LINES_OF_PANEL).map(|place| names[place * (many - 1) / last].clone()).collect()
}

#[cfg(test)]
mod tests;
