//! Errors about a loop of a file: its name, and the path of the field.

use crate::{Error, Result};

/// Refuses names that cannot stand in an address.
pub fn check_name(name: &str) -> Result<()> {
    let sound = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    if (1..=64).contains(&name.len()) && name.chars().all(sound) {
        return Ok(());
    }
    let remedy = "a loop's name stands in addresses; expected 1 to 64 of a-z, 0-9, _ and -";
    Err(Error::invalid("loop", format!("{name:?}"), remedy))
}

/// The same error with the name of the loop.
pub(super) fn within(name: &str, error: Error) -> Error {
    match error {
        Error::Invalid { field, value, remedy } => {
            Error::Invalid { field: format!("loop.{name}.{field}"), value, remedy }
        }
        Error::Core(error) => match (path_of(&error), error) {
            (Some(path), reticent::Error::Invalid { value, remedy, .. }) => {
                Error::invalid(format!("loop.{name}.{path}"), value, remedy)
            }
            (None, reticent::Error::Invalid { field, value, remedy }) => {
                Error::invalid(format!("loop.{name}, {field}"), value, remedy)
            }
            (_, error) => {
                Error::invalid(format!("loop.{name}"), "parameters that do not fit", error)
            }
        },
        other => other,
    }
}

/// Path in a loop's table of the parameter that the core refuses.
fn path_of(error: &reticent::Error) -> Option<&'static str> {
    const PATHS: [(&str, &str); 11] = [
        ("epsilon", "privacy.epsilon"),
        ("delta", "privacy.delta"),
        ("contributions_per_person", "privacy.visits"),
        ("levels", "device.levels"),
        ("rewards", "reward.range"),
        ("default_reward", "reward.default"),
        ("rule", "learner.rule"),
        ("forget", "learner.forget"),
        ("horizon", "learner.horizon"),
        ("batch", "shuffle.batch"),
        ("honest", "shuffle.honest"),
    ];
    let reticent::Error::Invalid { field, .. } = error else { return None };
    PATHS.iter().find(|(name, _)| name == field).map(|(_, path)| *path)
}
