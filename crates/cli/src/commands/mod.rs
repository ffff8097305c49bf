//! One file per subcommand.

use std::path::Path;

use crate::error::Error;

pub mod bench;
pub mod certify;
pub mod demo;
pub mod learn;
pub mod plan;
pub mod privacy;
pub mod reproduce;
pub mod run;

/// The text of a file the user named.
fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path)
        .map_err(|error| Error::Unreadable { path: path.to_path_buf(), reason: error.to_string() })
}
