//! Former names of keys, which a file may use for one version more; each use is a warning that names the present key.
//!
//! | former | present |
//! | --- | --- |
//! | `environment.circumstances` | `environment.modifiers` |

use toml::Table;

/// A former key of `[environment]`, and its present name.
const ENVIRONMENT: (&str, &str) = ("circumstances", "modifiers");

fn warning() -> String {
    let (former, present) = ENVIRONMENT;
    format!(
        "environment.{former}: former name of environment.{present}; expected environment.{present} from the next version on; rename it"
    )
}

/// Renames the former key of an environment. A table that has both keeps both, and the former one is refused as unknown.
pub(super) fn in_environment(table: &mut Table) -> Option<String> {
    let (former, present) = ENVIRONMENT;
    if table.contains_key(present) {
        return None;
    }
    let value = table.remove(former)?;
    table.insert(present.into(), value);
    Some(warning())
}

/// The path of an override with the present key, and a warning if it had the former one.
pub(super) fn in_path(path: &[String]) -> (Vec<String>, Option<String>) {
    let (former, present) = ENVIRONMENT;
    let mut path = path.to_vec();
    match path.as_mut_slice() {
        [first, key, ..] if first == "environment" && key == former => {
            *key = present.into();
            (path, Some(warning()))
        }
        _ => (path, None),
    }
}
