//! Paths in a file of an experiment: relative to the folder of that file.
//!
//! The file as run, which is stored beside the results, has absolute paths, so that it can be run from there. The keys of stored trials have names only: contents
//! are hashed, so that shards of several machines can be joined wherever these have their data.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

/// Keys whose values are paths, in tables of environments and of algorithms.
const KEYS: [&str; 7] = ["file", "items", "ratings", "people", "warm_start", "save", "log"];

/// Changes every path of a table.
fn each(table: &mut Table, change: &dyn Fn(&Path) -> PathBuf) {
    for (key, value) in table.iter_mut() {
        match value {
            Value::Table(inner) => each(inner, change),
            _ if !KEYS.contains(&key.as_str()) => {}
            Value::String(path) => *path = changed(path, change),
            // A grid of files.
            Value::Array(all) => {
                for value in all {
                    if let Value::String(path) = value {
                        *path = changed(path, change);
                    }
                }
            }
            _ => {}
        }
    }
}

fn changed(path: &str, change: &dyn Fn(&Path) -> PathBuf) -> String {
    change(Path::new(path)).to_string_lossy().into_owned()
}

/// The paths of a file in this folder, for a program that runs elsewhere.
pub(super) fn beside(table: &mut Table, folder: &Path) {
    // An absolute path replaces the folder.
    each(table, &|path| folder.join(path));
}

/// Paths that lead to the same places from everywhere.
pub(super) fn absolute(table: &mut Table) {
    each(table, &|path| std::path::absolute(path).unwrap_or_else(|_| path.into()));
}

/// The names of the files alone, in tables whose files are hashed: those of a safe set are not.
pub(super) fn names(value: &mut Value) {
    let Value::Table(table) = value else { return };
    let inner: Vec<(String, Value)> = table
        .iter()
        .filter(|(_, value)| value.is_table())
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect();
    each(table, &name);
    table.extend(inner);
}

/// The same in all tables.
pub(super) fn all_names(table: &mut Table) {
    for (_, value) in table.iter_mut() {
        let tables = match value {
            Value::Array(all) => all.iter_mut().filter_map(Value::as_table_mut).collect(),
            value => value.as_table_mut().into_iter().collect::<Vec<_>>(),
        };
        tables.into_iter().for_each(|table| each(table, &name));
    }
}

fn name(path: &Path) -> PathBuf {
    path.file_name().map_or_else(|| path.into(), PathBuf::from)
}
