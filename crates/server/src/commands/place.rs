//! Place of a service's data, an option of several commands.

use std::path::PathBuf;

use super::error::Error;
use crate::data::{Data, DatabaseUrl};
use clap::Args;

/// Place of a service's data.
#[derive(Args, Clone)]
pub struct Place {
    /// The folder that the service keeps its data in.
    #[arg(long)]
    data: PathBuf,
    /// The PostgreSQL database that the service was given; RETICENT_DATABASE is read if this is not.
    #[arg(long, value_name = "URL")]
    database: Option<String>,
}

impl Place {
    /// The folder and the database.
    pub fn data(self) -> Result<Data, Error> {
        Ok(Data { folder: self.data, database: database(self.database)? })
    }
}

/// The address that was given, or that of the environment. An empty one is refused: it comes from a variable that is not set, and a service would begin with an empty store.
pub fn database(given: Option<String>) -> Result<Option<DatabaseUrl>, Error> {
    match given {
        Some(_) => given_database(given),
        None => {
            // An address that is not text is refused as an address.
            let url = std::env::var_os("RETICENT_DATABASE");
            check("RETICENT_DATABASE", url.map(|url| url.to_string_lossy().into_owned()))
        }
    }
}

/// The address that was given, and no other.
pub fn given_database(given: Option<String>) -> Result<Option<DatabaseUrl>, Error> {
    check("--database", given)
}

fn check(name: &'static str, url: Option<String>) -> Result<Option<DatabaseUrl>, Error> {
    match url {
        Some(url) if url.trim().is_empty() => {
            let remedy = "it is empty; expected postgres://user@host/database; or leave it out";
            Err(crate::Error::invalid(name, "\"\"", remedy).into())
        }
        url => Ok(url.map(DatabaseUrl::from)),
    }
}
