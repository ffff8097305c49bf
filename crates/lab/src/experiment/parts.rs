//! The cells of an experiment: every algorithm in every environment, with its name and the key of its stored trials.

use reticent::hash::of_bytes_128;
use serde::Serialize;
use toml::Value;

use super::{
    CHECKPOINTS, Experiment,
    document::{self, Document, Section},
    grid::{self, Point},
};
use crate::{
    Error, Result,
    contest::{Cell, Contestant, Family, Label, joined},
    source::SOURCE,
};

/// An experiment under construction.
#[derive(Default)]
pub(super) struct Parts {
    environments: Vec<Value>,
    cells: Vec<Cell>,
}

impl Parts {
    /// Every algorithm in every point of the environment's grid.
    pub(super) fn add<F: Family>(&mut self, document: &Document, index: usize) -> Result<()> {
        let section = Section::Environment(index);
        let table = &document.environments[index];
        let several_files = document.environments.len() > 1;
        for environment in grid::expand::<F::Environment>(document, section, table)? {
            let mut labels = environment.labels.clone();
            if several_files && labels.is_empty() {
                let name = table.get("kind").and_then(Value::as_str).unwrap_or_default();
                labels.push(Label {
                    key: "environment".into(),
                    value: format!("{name} {}", index + 1),
                });
            }
            let written = written(&environment.value)?;
            let setting = F::setting(document.header.rounds, &environment.value)
                .map_err(|error| document.locate(error, section, None))?;
            self.add_algorithms::<F>(document, &setting, &written, &labels)?;
            self.environments.push(written);
        }
        Ok(())
    }

    fn add_algorithms<F: Family>(
        &mut self,
        document: &Document,
        setting: &F::Setting,
        environment_written: &Value,
        labels: &[Label],
    ) -> Result<()> {
        let (mut points, mut contestants) = (Vec::new(), Vec::new());
        for (index, table) in document.algorithms.iter().enumerate() {
            let section = Section::Algorithm(index);
            let word = |key: &str| table.get(key).and_then(Value::as_str).map(String::from);
            let series = word("name").or_else(|| word("kind")).unwrap_or_default();
            for mut point in grid::expand::<F::Algorithm>(document, section, table)? {
                if point.table.contains_key("name") && !point.labels.is_empty() {
                    let name = format!("{series}, {}", joined(&point.labels));
                    rename(&mut point, document, section, &name)?;
                }
                let contestant = one_contestant::<F>(document, section, setting, &point)?;
                points.push((section, series.clone(), point));
                contestants.push(contestant);
            }
        }
        // Points of a grid whose default names coincide are named by their coordinates in the grid, which their noise depends on. A report has those that the names do not say already.
        let names: Vec<String> =
            contestants.iter().map(|contestant| contestant.name().to_string()).collect();
        let mut shown = names.clone();
        for (index, name) in names.iter().enumerate() {
            let is_twin = |other: &usize| names[*other] == *name;
            let twins: Vec<Vec<Label>> =
                (0..names.len()).filter(is_twin).map(|at| points[at].2.labels.clone()).collect();
            let (section, _, point) = &mut points[index];
            if twins.len() > 1 && !point.labels.is_empty() {
                let differs = |label: &&Label| twins.iter().any(|twin| !twin.contains(label));
                let own: Vec<Label> = point.labels.iter().filter(differs).cloned().collect();
                rename(point, document, *section, &format!("{name}, {}", joined(&point.labels)))?;
                shown[index] = format!("{name}, {}", joined(&own));
                contestants[index] = one_contestant::<F>(document, *section, setting, point)?;
            }
        }
        for (((section, series, point), contestant), name) in
            points.into_iter().zip(contestants).zip(shown)
        {
            let suffix =
                if labels.is_empty() { String::new() } else { format!(" [{}]", joined(labels)) };
            let name = format!("{name}{suffix}");
            if name.chars().any(char::is_control) {
                let error = reticent::Error::invalid(
                    "name",
                    format!("{name:?}"),
                    "leave control characters out",
                );
                return Err(document.locate(error.into(), section, Some("name")));
            }
            if self.cells.iter().any(|cell| cell.name == name) {
                let error =
                    reticent::Error::invalid("name", name, "give each algorithm a name of its own");
                return Err(document.locate(error.into(), section, Some("name")));
            }
            let algorithm = written(&point.value)?;
            let header = &document.header;
            let determined = format!(
                "{SOURCE} {} {} {CHECKPOINTS} {environment_written} {algorithm} {}",
                header.rounds,
                header.seed,
                contestant.data_hash()
            );
            let environment = labels.to_vec();
            let labels = labels.iter().chain(&point.labels).cloned().collect();
            self.cells.push(Cell {
                name,
                contestant,
                labels,
                series,
                environment,
                key: of_bytes_128(determined.as_bytes()),
            });
        }
        Ok(())
    }

    pub(super) fn finish(mut self, document: &Document) -> Result<Experiment> {
        self.check_figure(document)?;
        let text = document.written()?;
        let environment = match self.environments.len() {
            1 => self.environments.remove(0),
            _ => Value::Array(self.environments),
        };
        let environment = serde_json::to_value(&environment)
            .map_err(|error| Error::experiment(error.to_string()))?;
        let document::Header { name, rounds, trials, seed } = document.header.clone();
        let (cells, drawing) = (self.cells, document.figure.clone());
        Ok(Experiment { name, rounds, trials, seed, environment, text, cells, drawing })
    }

    /// Refuses a `[figure]` that names what the experiment does not have.
    fn check_figure(&self, document: &Document) -> Result<()> {
        let figure = &document.figure;
        let refuse = |field: &'static str, value: &str, remedy: String| {
            let error = reticent::Error::invalid(field, value, remedy);
            Err(document.locate(error.into(), Section::Figure, Some(field)))
        };
        let mut names: Vec<&str> = self.cells.iter().map(|cell| cell.series.as_str()).collect();
        names.dedup();
        if let Some(name) = figure.algorithms.iter().find(|name| !names.contains(&name.as_str())) {
            return refuse("algorithms", name, format!("give some of {}", names.join(", ")));
        }
        let labels = self.cells.iter().flat_map(|cell| &cell.labels);
        let mut keys: Vec<&str> = labels.map(|label| label.key.as_str()).collect();
        keys.sort_unstable();
        keys.dedup();
        let fields = [
            ("against", &figure.against, &["round"][..]),
            ("facets", &figure.facets, &["algorithm", "none"]),
        ];
        for (field, given, words) in fields {
            let known: Vec<&str> = words.iter().chain(&keys).copied().collect();
            if let Some(given) = given.as_deref().filter(|given| !known.contains(given)) {
                return refuse(field, given, format!("give one of {}", known.join(", ")));
            }
        }
        let fits = |(width, height): (u32, u32)| {
            (120..=1000).contains(&width) && (120..=1000).contains(&height)
        };
        if let Some(size) = figure.size.filter(|size| !fits(*size)) {
            let remedy = "give width and height of a panel from 120 to 1000 points".to_string();
            return refuse("size", &format!("{size:?}"), remedy);
        }
        if figure.format.is_empty() {
            return refuse("format", "[]", "give some of svg, png, pdf".into());
        }
        Ok(())
    }
}

fn written(value: &impl Serialize) -> Result<Value> {
    Value::try_from(value).map_err(|error| Error::experiment(error.to_string()))
}

/// Names a point of a grid.
fn rename<A: serde::de::DeserializeOwned>(
    point: &mut Point<A>,
    document: &Document,
    section: Section,
    name: &str,
) -> Result<()> {
    point.table.insert("name".into(), Value::String(name.into()));
    point.value = document.typed(section, &point.table)?;
    Ok(())
}

fn one_contestant<F: Family>(
    document: &Document,
    section: Section,
    setting: &F::Setting,
    point: &Point<F::Algorithm>,
) -> Result<Box<dyn Contestant>> {
    F::contestant(setting, &point.value).map_err(|error| document.locate(error, section, None))
}
