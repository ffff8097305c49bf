//! Safe sets as people write them: rows in TOML, a file, or the paper's simplex.
//!
//! A CSV file has one constraint a line, `a_1, ..., a_M, b`, and may begin with a heading; lines that begin with `#` are comments. A TOML
//! file has `rows` and `bounds`.

use std::path::Path;

use reticent::{error::message, geometry::Polytope, safe::Simplex};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// A safe set, given in one of three ways.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SafeSetToml {
    /// A, row by row; with `bounds`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<Vec<Vec<f64>>>,
    /// b.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Vec<f64>>,
    /// A file with A and b, CSV or TOML by its name; relative to the file that names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// c of the paper's simplex, (15)-(17).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simplex: Option<Vec<f64>>,
}

/// A and b.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowToml {
    rows: Vec<Vec<f64>>,
    bounds: Vec<f64>,
}

impl SafeSetToml {
    /// The set, or what is wrong with it.
    pub fn polytope(&self) -> Result<Polytope> {
        match self {
            SafeSetToml { rows: Some(rows), bounds: Some(bounds), file: None, simplex: None } => {
                Ok(Polytope::new(rows, bounds)?)
            }
            SafeSetToml { rows: None, bounds: None, file: Some(file), simplex: None } => {
                from_file(Path::new(file))
            }
            SafeSetToml { rows: None, bounds: None, file: None, simplex: Some(reaches) } => {
                Ok(Simplex::new(reaches)?.polytope()?)
            }
            _ => {
                let remedy = "expected exactly one of rows with bounds, a file and a simplex";
                let found = "none of them, or several";
                Err(Error::Experiment { reason: message("safe_set", found, remedy) })
            }
        }
    }
}

fn from_file(path: &Path) -> Result<Polytope> {
    let unusable =
        |reason: String| Error::Experiment { reason: format!("{}, {reason}", path.display()) };
    let text = std::fs::read_to_string(path).map_err(|error| Error::Unreadable {
        path: path.to_path_buf(),
        reason: error.to_string(),
    })?;
    let toml = path.extension().is_some_and(|extension| extension == "toml");
    let RowToml { rows, bounds } = if toml {
        crate::parse_lines(&text).map_err(|error| unusable(error.to_string()))?
    } else {
        from_csv(&text).map_err(unusable)?
    };
    Polytope::new(&rows, &bounds).map_err(|error| unusable(error.to_string()))
}

fn from_csv(text: &str) -> std::result::Result<RowToml, String> {
    let (mut rows, mut bounds): (Vec<Vec<f64>>, Vec<f64>) = (Vec::new(), Vec::new());
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let numbers: std::result::Result<Vec<f64>, _> =
            cells.iter().map(|cell| cell.parse::<f64>()).collect();
        let mut numbers = match numbers {
            Ok(numbers) => numbers,
            // A heading, and only one, may stand first.
            Err(_) if rows.is_empty() && cells.iter().all(|cell| cell.parse::<f64>().is_err()) => {
                continue;
            }
            Err(error) => {
                let found = format!("{line:?} ({error})");
                return Err(message(format!("line {}", number + 1), found, "expected numbers"));
            }
        };
        let bound = numbers.pop().unwrap_or_default();
        if numbers.is_empty() || rows.first().is_some_and(|row| row.len() != numbers.len()) {
            let reason = "expected the same number of entries in every line, the bound last";
            let found = format!("{} entries", numbers.len() + 1);
            return Err(message(format!("line {}", number + 1), found, reason));
        }
        rows.push(numbers);
        bounds.push(bound);
    }
    if rows.is_empty() {
        return Err(message("constraints", "missing", "expected lines `a_1, ..., a_M, b`"));
    }
    Ok(RowToml { rows, bounds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_files_are_read_and_bad_lines_are_named() {
        let good = "house 1, house 2, limit\n# the transformer\n1, 1, 3\n-1, 0, 1\n0,-1,1\n";
        let RowToml { rows, bounds } = from_csv(good).unwrap();
        assert_eq!(rows, [[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]);
        assert_eq!(bounds, [3.0, 1.0, 1.0]);
        for (bad, word) in [
            ("1,1,3\n1,x,2\n", "line 2"),
            ("1,1,3\n1,2\n", "line 2"),
            ("1,1,3\n1,\n", "line 2"),
            ("", "constraints: missing"),
            ("a,b\nc,d\n", "constraints: missing"),
            ("7\n", "line 1"),
        ] {
            let error = from_csv(bad).unwrap_err();
            assert!(error.contains(word), "{bad:?}: {error}");
        }
    }

    #[test]
    fn files_are_found_by_their_name_and_truncated_ones_refused() {
        let folder = std::env::temp_dir().join("reticent-safe-sets");
        std::fs::create_dir_all(&folder).unwrap();
        let path = |name: &str| folder.join(name).display().to_string();
        std::fs::write(path("set.csv"), "1,1,3\n-1,0,1\n0,-1,1\n").unwrap();
        std::fs::write(path("set.toml"), "rows = [[1, 1], [-1, 0], [0, -1]]\nbounds = [3, 1, 1]\n")
            .unwrap();
        std::fs::write(path("cut.csv"), "1,1,3\n-1,0,1\n0,-1").unwrap();
        std::fs::write(path("open.csv"), "1,1,3\n-1,0,1\n").unwrap();
        let read = |name: &str| {
            SafeSetToml { file: Some(path(name)), ..SafeSetToml::default() }.polytope()
        };
        assert_eq!(read("set.csv").unwrap(), read("set.toml").unwrap());
        assert!(read("cut.csv").unwrap_err().to_string().contains("line 3"));
        assert!(read("open.csv").unwrap_err().to_string().contains("direction"));
        assert!(read("missing.csv").unwrap_err().to_string().contains("missing.csv"));
        let two = SafeSetToml {
            file: Some(path("set.csv")),
            simplex: Some(vec![1.0]),
            ..SafeSetToml::default()
        };
        assert!(two.polytope().unwrap_err().to_string().contains("exactly one"));
        let misspelt = toml::from_str::<SafeSetToml>("sinplex = [1.0]").unwrap_err().to_string();
        assert!(misspelt.contains("sinplex") && misspelt.contains("simplex"), "{misspelt}");
    }
}
