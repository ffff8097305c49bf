//! The cells of an experiment: every algorithm in every environment, with its name and the key of its stored trials.

use std::any::Any;

use reticent::hash::of_bytes_128;
use serde::Serialize;
use toml::{Table, Value};

use super::{
    CHECKPOINTS, Experiment,
    document::{Document, Header, Section},
    grid::{self, Point},
    kinds::{self, Kinds, OwnAlgorithm, OwnEnvironment},
    paths,
};
use crate::{
    Error, Result,
    algorithm::{
        Cell, Family, Label, RunnableAlgorithm,
        bandit::{BanditEnvironment, Bandits},
        joined,
    },
    lines::attempt,
    source::SOURCE,
};

/// An experiment under construction.
pub(super) struct Parts {
    header: Header,
    environments: Vec<Value>,
    cells: Vec<Cell>,
}

impl Parts {
    pub(super) fn new(header: Header) -> Self {
        Parts { header, environments: Vec::new(), cells: Vec::new() }
    }

    /// Every algorithm in every point of the environment's grid.
    pub(super) fn add<F: Family>(
        &mut self,
        document: &Document,
        index: usize,
        kinds: &Kinds,
    ) -> Result<()> {
        let section = Section::Environment(index);
        for point in
            grid::expand::<F::Environment>(document, section, &document.environments[index])?
        {
            let (place, environment) = self.place::<F>(document, index, point)?;
            let entries = entries::<F>(document, kinds)?;
            self.add_entries::<F>(document, &environment, place, entries)?;
        }
        Ok(())
    }

    /// Every algorithm in the environment, as a program made them.
    pub(super) fn add_typed<F: Family>(
        &mut self,
        document: &Document,
        environment: Point<F::Environment>,
        algorithms: Vec<Point<F::Algorithm>>,
    ) -> Result<()> {
        let (place, environment) = self.place::<F>(document, 0, environment)?;
        let entries = algorithms.into_iter().map(Entry::Family).enumerate().collect();
        self.add_entries::<F>(document, &environment, place, entries)
    }

    fn place<F: Family>(
        &self,
        document: &Document,
        index: usize,
        point: Point<F::Environment>,
    ) -> Result<(Place, F::Checked)> {
        let written = written(&point.value)?;
        let environment = F::check(self.header.rounds, &point.value)
            .map_err(|error| document.locate(error, Section::Environment(index), None))?;
        Ok((Place { index, labels: point.labels, written, of_program: false }, environment))
    }

    /// The same in an environment of a program.
    pub(super) fn add_own(
        &mut self,
        document: &Document,
        index: usize,
        own: &dyn OwnEnvironment,
        kinds: &Kinds,
    ) -> Result<()> {
        let (section, table) = (Section::Environment(index), &document.environments[index]);
        for (labels, written, environment) in
            own.environments(document, self.header.rounds, section, table)?
        {
            let place = Place { index, labels, written, of_program: true };
            let entries = entries::<Bandits>(document, kinds)?;
            self.add_entries::<Bandits>(document, &environment, place, entries)?;
        }
        Ok(())
    }

    fn add_entries<F: Family>(
        &mut self,
        document: &Document,
        environment: &F::Checked,
        place: Place,
        entries: Vec<(usize, Entry<'_, F>)>,
    ) -> Result<()> {
        let labels = place.labels(document);
        let mut points = Vec::new();
        for (index, mut entry) in entries {
            let (section, table) = (Section::Algorithm(index), &document.algorithms[index]);
            let word = |key: &str| table.get(key).and_then(Value::as_str);
            let series = word("name").or(word("kind")).unwrap_or_default().to_string();
            if table.contains_key("name") && !entry.labels().is_empty() {
                let name = format!("{series}, {}", joined(entry.labels()));
                entry.rename(document, section, &name)?;
            }
            let algorithm = entry.prepare(document, section, environment)?;
            points.push((section, series, entry, algorithm));
        }
        // Points of a grid whose default names coincide are named by their coordinates in the grid, which their noise depends on. A report has those that the names do not say already.
        let names: Vec<String> =
            points.iter().map(|(.., algorithm)| algorithm.name().to_string()).collect();
        let mut shown = names.clone();
        for (index, name) in names.iter().enumerate() {
            let is_twin = |other: &usize| names[*other] == *name;
            let twins: Vec<Vec<Label>> =
                (0..names.len()).filter(is_twin).map(|at| points[at].2.labels().to_vec()).collect();
            let (section, _, entry, algorithm) = &mut points[index];
            if twins.len() > 1 && !entry.labels().is_empty() {
                let differs = |label: &&Label| twins.iter().any(|twin| !twin.contains(label));
                let own: Vec<Label> = entry.labels().iter().filter(differs).cloned().collect();
                let coordinates = joined(entry.labels());
                entry.rename(document, *section, &format!("{name}, {coordinates}"))?;
                shown[index] = format!("{name}, {}", joined(&own));
                *algorithm = entry.prepare(document, *section, environment)?;
            }
        }
        for ((section, series, entry, algorithm), name) in points.into_iter().zip(shown) {
            let suffix =
                if labels.is_empty() { String::new() } else { format!(" [{}]", joined(&labels)) };
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
            let (mut written, mut environment) = (entry.written()?, place.written.clone());
            paths::names(&mut written);
            paths::names(&mut environment);
            let mut determined = format!(
                "{SOURCE} {} {} {CHECKPOINTS} {environment} {written} {}",
                self.header.rounds,
                self.header.seed,
                algorithm.data_hash()
            );
            if place.of_program || entry.is_of_program() {
                determined += &format!(" {}", kinds::executable()?);
            }
            let environment = labels.clone();
            let labels = labels.iter().chain(entry.labels()).cloned().collect();
            self.cells.push(Cell {
                name,
                algorithm,
                labels,
                series,
                environment,
                key: of_bytes_128(determined.as_bytes()),
            });
        }
        self.environments.push(place.written);
        Ok(())
    }

    pub(super) fn finish(mut self, document: &Document) -> Result<Experiment> {
        self.check_figure(document)?;
        let text = document.written(&self.header)?;
        let environment = match self.environments.len() {
            1 => self.environments.remove(0),
            _ => Value::Array(self.environments),
        };
        let environment = serde_json::to_value(&environment)
            .map_err(|error| Error::experiment(error.to_string()))?;
        let Header { name, rounds, trials, seed, figure: drawing } = self.header;
        let cells = self.cells;
        let warnings = document.warnings.clone();
        Ok(Experiment { name, rounds, trials, seed, environment, text, cells, drawing, warnings })
    }

    /// Refuses a `[figure]` that names what the experiment does not have.
    fn check_figure(&self, document: &Document) -> Result<()> {
        let figure = &self.header.figure;
        let refuse = |field: &'static str, value: &str, remedy: String| {
            let error = reticent::Error::invalid(field, format!("{value:?}"), remedy);
            Err(document.locate(error.into(), Section::Figure, Some(field)))
        };
        let mut names: Vec<&str> = self.cells.iter().map(|cell| cell.series.as_str()).collect();
        names.dedup();
        if let Some(name) = figure.algorithms.iter().find(|name| !names.contains(&name.as_str())) {
            return refuse("algorithms", name, format!("expected some of {}", names.join(", ")));
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
                return refuse(field, given, format!("expected one of {}", known.join(", ")));
            }
        }
        let fits = |(width, height): (u32, u32)| {
            (120..=1000).contains(&width) && (120..=1000).contains(&height)
        };
        if let Some(size) = figure.size.filter(|size| !fits(*size)) {
            let remedy = "expected width and height of a panel from 120 to 1000 points".to_string();
            return refuse("size", &format!("{size:?}"), remedy);
        }
        if figure.format.is_empty() {
            return refuse("format", "[]", "expected some of svg, png".into());
        }
        Ok(())
    }
}

fn written(value: &impl Serialize) -> Result<Value> {
    Value::try_from(value).map_err(|error| Error::experiment(error.to_string()))
}

/// The points of every algorithm's grid, each with the number of its table.
fn entries<'a, F: Family>(
    document: &Document,
    kinds: &'a Kinds,
) -> Result<Vec<(usize, Entry<'a, F>)>> {
    let mut entries = Vec::new();
    for (index, table) in document.algorithms.iter().enumerate() {
        let section = Section::Algorithm(index);
        let kind = table.get("kind").and_then(Value::as_str);
        let own = kinds.algorithms().iter().find(|own| kind == Some(own.kind()));
        let points = match own {
            Some(own) => Entry::of_program(own.as_ref(), document, section, table)?,
            None => {
                known_kind::<F>(document, section, table, kinds)?;
                Entry::of_family(document, section, table)?
            }
        };
        entries.extend(points.into_iter().map(|entry| (index, entry)));
    }
    Ok(entries)
}

/// Refuses a kind that neither the family nor the program has; the parser knows those of the family only.
fn known_kind<F: Family>(
    document: &Document,
    section: Section,
    table: &Table,
    kinds: &Kinds,
) -> Result<()> {
    let own: Vec<String> =
        kinds.algorithms().iter().map(|own| format!("`{}`", own.kind())).collect();
    let kind = table.get("kind").and_then(Value::as_str).unwrap_or_default();
    let unknown = format!("unknown variant `{kind}`");
    match attempt::<F::Algorithm>(table) {
        Err(message) if !own.is_empty() && message.starts_with(&unknown) => {
            let message = format!("{message}, {}", own.join(", "));
            Err(document.refusal::<F::Algorithm>(section, table, &message))
        }
        _ => Ok(()),
    }
}

/// A point of an environment's grid.
struct Place {
    /// The number of its table in the file.
    index: usize,
    labels: Vec<Label>,
    /// Its keys, as written.
    written: Value,
    /// It is a kind that the running program adds.
    of_program: bool,
}

impl Place {
    /// Its position in the grid, or its table if there are several.
    fn labels(&self, document: &Document) -> Vec<Label> {
        if document.environments.len() == 1 || !self.labels.is_empty() {
            return self.labels.clone();
        }
        let table = &document.environments[self.index];
        let kind = table.get("kind").and_then(Value::as_str).unwrap_or_default();
        vec![Label { key: "environment".into(), value: format!("{kind} {}", self.index + 1) }]
    }
}

/// A point of an algorithm's grid: of a kind of its family, or of one that the running program adds.
enum Entry<'a, F: Family> {
    Family(Point<F::Algorithm>),
    Program(&'a dyn OwnAlgorithm, Point<()>),
}

impl<'a, F: Family> Entry<'a, F> {
    fn of_family(document: &Document, section: Section, table: &Table) -> Result<Vec<Self>> {
        let points = grid::expand::<F::Algorithm>(document, section, table);
        Ok(points?.into_iter().map(Entry::Family).collect())
    }

    fn of_program(
        own: &'a dyn OwnAlgorithm,
        document: &Document,
        section: Section,
        table: &Table,
    ) -> Result<Vec<Self>> {
        let points = own.points(document, section, table)?;
        Ok(points.into_iter().map(|point| Entry::Program(own, point)).collect())
    }

    fn is_of_program(&self) -> bool {
        matches!(self, Entry::Program(..))
    }

    fn labels(&self) -> &[Label] {
        match self {
            Entry::Family(point) => &point.labels,
            Entry::Program(_, point) => &point.labels,
        }
    }

    fn written(&self) -> Result<Value> {
        match self {
            Entry::Family(point) => written(&point.value),
            Entry::Program(_, point) => Ok(Value::Table(point.table.clone())),
        }
    }

    /// Names a point of a grid.
    fn rename(&mut self, document: &Document, section: Section, name: &str) -> Result<()> {
        let name = Value::String(name.into());
        match self {
            Entry::Family(point) => {
                point.table.insert("name".into(), name);
                point.value = document.typed(section, &point.table)?;
            }
            Entry::Program(_, point) => drop(point.table.insert("name".into(), name)),
        }
        Ok(())
    }

    fn prepare(
        &self,
        document: &Document,
        section: Section,
        environment: &F::Checked,
    ) -> Result<Box<dyn RunnableAlgorithm>> {
        let found = match self {
            Entry::Family(point) => F::prepare(environment, &point.value),
            Entry::Program(own, point) => {
                match (environment as &dyn Any).downcast_ref::<BanditEnvironment>() {
                    // Kinds of a program are for linear bandits.
                    Some(environment) => own.prepare(document, section, environment, &point.table),
                    None => {
                        let remedy =
                            "it is an algorithm for linear bandits; expected such an environment";
                        Err(reticent::Error::invalid("kind", own.kind(), remedy).into())
                    }
                }
            }
        };
        found.map_err(|error| document.locate(error, section, None))
    }
}
