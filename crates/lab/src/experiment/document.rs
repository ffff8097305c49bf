//! An experiment file as text, with its overrides and the line numbers of errors.

use std::path::Path;

use reticent::error::message;
use serde::{Deserialize, de::DeserializeOwned};
use toml::{Table, Value};

use super::{former, paths};
use crate::{
    Error, Result,
    algorithm::online::instead_of_kind,
    lines::{self, attempt, culprit, get, key_in, line_of, plain_words, set, with_suggestion},
    report::summary::FigureToml,
};

/// The file, and its tables after overrides.
pub(super) struct Document {
    text: String,
    pub(super) environments: Vec<Table>,
    pub(super) algorithms: Vec<Table>,
    /// Paths whose values were overridden.
    overridden: Vec<Vec<String>>,
    /// Warnings for the author of the file.
    pub(super) warnings: Vec<String>,
}

/// The part above the first table, with the figure's keys.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    pub(super) name: String,
    pub(super) rounds: u64,
    #[serde(default = "crate::lines::one")]
    pub(super) trials: u64,
    #[serde(default)]
    pub(super) seed: u64,
    #[serde(skip)]
    pub(super) figure: FigureToml,
}

/// A part of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Header,
    Environment(usize),
    Algorithm(usize),
    Figure,
}

/// `--set path=value`: another value for a key of the file.
///
/// The path begins with `environment`, `algorithm` or a key of the header. One that begins with `algorithm` changes every algorithm that has
/// the key, or every algorithm if none has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Override {
    path: Vec<String>,
    value: Value,
}

impl std::str::FromStr for Override {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let remedy = "write it as path=value, such as algorithm.privacy.epsilon=0.5";
        let (path, value) = text.split_once('=').ok_or(remedy)?;
        let path: Vec<String> = path.trim().split('.').map(|key| key.trim().to_string()).collect();
        if path.iter().any(String::is_empty) {
            return Err(remedy.into());
        }
        // A bare word is text: mode=paper needs no quotes.
        let parsed = toml::from_str::<Table>(&format!("value = {value}"));
        let value = match parsed.ok().and_then(|mut table| table.remove("value")) {
            Some(value) => value,
            None => Value::String(value.trim().to_string()),
        };
        Ok(Override { path, value })
    }
}

impl Document {
    /// Reads a file of this folder; paths of an override are relative to where the program runs.
    pub(super) fn read(
        text: &str,
        overrides: &[Override],
        folder: &Path,
    ) -> Result<(Self, Header)> {
        let mut table: Table = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| line_of(text, span.start));
            let found = format!("what cannot be read ({})", error.message().trim());
            Error::experiment(message("text", found, "expected TOML")).at(line, "")
        })?;
        let mut environments = tables(table.remove("environment"), "environment")?;
        let mut algorithms = tables(table.remove("algorithm"), "algorithm")?;
        let both = environments.iter_mut().chain(&mut algorithms);
        both.for_each(|table| paths::beside(table, folder));
        let mut warnings: Vec<String> =
            environments.iter_mut().filter_map(former::in_environment).collect();
        let overrides: Vec<Override> = overrides
            .iter()
            .map(|change| {
                let (path, warning) = former::in_path(&change.path);
                warnings.extend(warning);
                Override { path, value: change.value.clone() }
            })
            .collect();
        warnings.dedup();
        let mut document = Document {
            text: text.to_string(),
            environments,
            algorithms,
            overridden: overrides.iter().map(|change| change.path.clone()).collect(),
            warnings,
        };
        for change in &overrides {
            document.change(&mut table, change);
        }
        const KEYS: [&str; 7] =
            ["name", "rounds", "trials", "seed", "environment", "algorithm", "figure"];
        if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
            // The parser of the header would not recognise this key as a table.
            let known = KEYS.map(|key| format!("`{key}`")).join(", ");
            let known = format!("expected one of {known}");
            let reason = message(key, "an unknown key", with_suggestion(key, &known));
            let line = text.lines().position(|line| {
                title(line).unwrap_or(line).trim_start().starts_with(key.as_str())
            });
            return Err(Error::experiment(reason).at(line.map(|at| at + 1), ""));
        }
        if let Some(key) =
            ["environment", "algorithm"].into_iter().find(|key| table.contains_key(*key))
        {
            let remedy = "it is a table: set one of its keys, such as environment.arms=10";
            return Err(reticent::Error::invalid(key, table[key].to_string(), remedy).into());
        }
        let figures = tables(table.remove("figure"), "figure")?;
        let remedy = "an experiment has one: write [figure] once";
        reticent::refuse_if(figures.len() > 1, "figure", figures.len(), remedy)?;
        let figure = match figures.first() {
            Some(figure) => document.typed(Section::Figure, figure)?,
            None => FigureToml::default(),
        };
        let header = Header { figure, ..document.typed(Section::Header, &table)? };
        let remedy = "add an [environment] with a kind";
        reticent::refuse_if(document.environments.is_empty(), "environment", "missing", remedy)?;
        let remedy = "add an [[algorithm]] with a kind";
        reticent::refuse_if(document.algorithms.is_empty(), "algorithm", "missing", remedy)?;
        Ok((document, header))
    }

    /// The tables of an experiment that a program made.
    pub(super) fn of_tables(environment: Table, algorithms: Vec<Table>) -> Result<Self> {
        let remedy = "add an algorithm";
        reticent::refuse_if(algorithms.is_empty(), "algorithm", "missing", remedy)?;
        let environments = vec![environment];
        Ok(Document {
            text: String::new(),
            environments,
            algorithms,
            overridden: Vec::new(),
            warnings: Vec::new(),
        })
    }

    fn change(&mut self, header: &mut Table, change: &Override) {
        let (first, rest) = (change.path[0].as_str(), &change.path[1..]);
        match (first, rest) {
            ("environment", [_, ..]) => {
                self.environments.iter_mut().for_each(|table| set(table, rest, &change.value));
            }
            ("algorithm", [_, ..]) => {
                let any = self.algorithms.iter().any(|table| get(table, rest).is_some());
                let wanted = |table: &&mut Table| !any || get(table, rest).is_some();
                let tables = self.algorithms.iter_mut().filter(wanted);
                tables.for_each(|table| set(table, rest, &change.value));
            }
            _ => set(header, &change.path, &change.value),
        }
    }

    /// The file as run, with its overrides.
    pub(super) fn written(&self, header: &Header) -> Result<String> {
        let whole = |field, value: u64| {
            let remedy = "expected a whole number below 2^63";
            let value = i64::try_from(value);
            value
                .map_err(|_| reticent::Error::invalid(field, "too large a number", remedy))
                .map(Value::Integer)
        };
        let absolute = |table: &Table| {
            let mut table = table.clone();
            paths::absolute(&mut table);
            Value::Table(table)
        };
        let several = |tables: &[Table]| match tables {
            [one] => absolute(one),
            all => Value::Array(all.iter().map(absolute).collect()),
        };
        let Header { name, rounds, trials, seed, figure } = header;
        let all = self.algorithms.iter().map(absolute);
        let lines = [
            ("name", Value::String(name.clone())),
            ("rounds", whole("rounds", *rounds)?),
            ("trials", whole("trials", *trials)?),
            ("seed", whole("seed", *seed)?),
            ("environment", several(&self.environments)),
            ("algorithm", Value::Array(all.collect())),
        ];
        let mut lines: Table =
            lines.into_iter().map(|(key, value)| (key.to_string(), value)).collect();
        if *figure != FigureToml::default() {
            let figure = Value::try_from(figure);
            let figure = figure.map_err(|error| Error::experiment(error.to_string()))?;
            lines.insert("figure".into(), figure);
        }
        toml::to_string(&lines).map_err(|error| Error::experiment(error.to_string()))
    }

    /// Deserialises a table; an error names the key and its line.
    pub(super) fn typed<T: DeserializeOwned>(&self, section: Section, table: &Table) -> Result<T> {
        attempt::<T>(table).map_err(|message| self.refusal::<T>(section, table, &message))
    }

    /// The parser's message, in terms of the file.
    pub(super) fn refusal<T: DeserializeOwned>(
        &self,
        section: Section,
        table: &Table,
        message: &str,
    ) -> Error {
        let named = message.split('`').nth(1).map(String::from);
        let missing = message.starts_with("missing ");
        let key = match &named {
            // An unknown variant is the value of some key, or the name of its only entry.
            Some(value) if message.starts_with("unknown variant") => {
                let is = |entry: &Value| entry.as_str() == Some(value.as_str());
                let has = |path: &Vec<String>| match get(table, path) {
                    Some(Value::Array(list)) => list.iter().any(is),
                    Some(Value::String(text)) => text == value,
                    Some(Value::Table(inner)) => inner.contains_key(value),
                    _ => false,
                };
                lines::paths(table).into_iter().find(has).and_then(|path| path.last().cloned())
            }
            Some(key) if missing || message.starts_with("unknown ") => Some(key.clone()),
            _ => culprit::<T>(table, message).and_then(|path| path.last().cloned()),
        };
        let mut reason = plain_words(key.as_deref(), message);
        if named.as_deref() == Some("contributions_per_person") {
            reason = format!("{reason}; {}", many_contributions(table));
        }
        if key.as_deref() == Some("kind")
            && message.contains("`online_learner`")
            && let Some(remedy) = instead_of_kind(table)
        {
            reason = format!("{reason}; {remedy}");
        }
        self.locate(Error::experiment(reason), section, if missing { None } else { key.as_deref() })
    }

    /// The error with the line of the key it is about, or of its section.
    pub(super) fn locate(&self, error: Error, section: Section, key: Option<&str>) -> Error {
        let place = match section {
            Section::Header => String::new(),
            Section::Environment(_) => "environment".into(),
            Section::Figure => "figure".into(),
            Section::Algorithm(index) => match self.algorithms[index].get("name") {
                Some(Value::String(name)) => format!("algorithm {name:?}"),
                _ => format!("algorithm {}", index + 1),
            },
        };
        let field = match &error {
            Error::Core(reticent::Error::Invalid { field, .. }) => Some(*field),
            _ => None,
        };
        let key = key.or(field).map(|key| key.rsplit('.').next().unwrap_or(key));
        if let Some(path) = key.and_then(|key| self.override_of(section, key)) {
            let place = if place.is_empty() { place } else { format!(", {place}") };
            return error.at(None, &format!("--set {}{place}", path.join(".")));
        }
        let line = key.and_then(|key| self.line_with(section, key)).or_else(|| {
            let of_others = key.and_then(|key| {
                let others = (0..self.environments.len()).map(Section::Environment);
                others.chain([Section::Header]).find_map(|section| self.line_with(section, key))
            });
            of_others.or_else(|| self.lines(section).next().map(|(number, _)| number))
        });
        error.at(line, &place)
    }

    /// The override that gave this key its value: in the section, or else anywhere except in another algorithm.
    fn override_of(&self, section: Section, key: &str) -> Option<&Vec<String>> {
        let room = |path: &[String]| match path {
            [first, _, ..] if first == "environment" || first == "algorithm" => first.clone(),
            _ => String::new(),
        };
        let own = match section {
            Section::Header => "",
            Section::Environment(_) => "environment",
            Section::Algorithm(_) => "algorithm",
            Section::Figure => "figure",
        };
        let of_key = |path: &&Vec<String>| path.last().is_some_and(|last| last == key);
        let mut all = self.overridden.iter().rev().filter(of_key);
        let elsewhere = all.clone().find(|path| room(path) != "algorithm");
        let in_file = || self.line_with(section, key).is_some();
        all.find(|path| room(path) == own).or(elsewhere.filter(|_| !in_file()))
    }

    /// The numbered lines of a section, its header first.
    fn lines(&self, section: Section) -> impl Iterator<Item = (usize, &str)> {
        let (name, wanted) = match section {
            Section::Header => ("", 0),
            Section::Environment(index) => ("environment", index + 1),
            Section::Algorithm(index) => ("algorithm", index + 1),
            Section::Figure => ("figure", 1),
        };
        let (mut count, mut inside) = (0, name.is_empty());
        self.text.lines().enumerate().filter_map(move |(number, line)| {
            if let Some(title) = title(line) {
                // A table within the section, [algorithm.privacy], belongs to it.
                if title == name {
                    count += 1;
                    inside = count == wanted;
                } else if title.split('.').next() != Some(name) {
                    inside = false;
                }
            }
            inside.then_some((number + 1, line))
        })
    }

    fn line_with(&self, section: Section, key: &str) -> Option<usize> {
        let has = |line: &str| key_in(line.split('#').next().unwrap_or_default(), key).is_some();
        self.lines(section).find(|(_, line)| has(line)).map(|(number, _)| number)
    }
}

/// The name in a table's header, if the line is one.
fn title(line: &str) -> Option<&str> {
    let line = line.split('#').next()?.trim();
    let inner = line.strip_prefix('[')?.strip_suffix(']')?;
    Some(inner.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(inner).trim())
}

/// One table, or several.
fn tables(value: Option<Value>, name: &'static str) -> Result<Vec<Table>> {
    let table = |value| match value {
        Value::Table(table) => Ok(table),
        other => {
            let remedy = format!("write it as a table, under [{name}]");
            Err(reticent::Error::invalid(name, other.to_string(), remedy).into())
        }
    };
    match value {
        None => Ok(Vec::new()),
        Some(Value::Array(several)) => several.into_iter().map(table).collect(),
        Some(one) => Ok(vec![table(one)?]),
    }
}

/// Reason why an algorithm does not take `contributions_per_person`.
fn many_contributions(algorithm: &Table) -> String {
    match algorithm.get("kind").and_then(Value::as_str) {
        Some("linucb" | "online_linucb") => {
            "it is not private, so contributions are not counted: leave it out".into()
        }
        _ => "`joint`, `local`, `shuffle` and `private_bandit` take it".into(),
    }
}
