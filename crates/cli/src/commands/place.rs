//! Where a service keeps its data, as several commands are told it.

use std::path::PathBuf;

use clap::Args;
use reticent_server::data::{Data, DatabaseUrl};

/// Where a service keeps its data.
#[derive(Args)]
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
    pub fn data(self) -> Data {
        Data { folder: self.data, database: database(self.database) }
    }
}

/// The address that was given, or that of the environment.
pub fn database(given: Option<String>) -> Option<DatabaseUrl> {
    let of_environment = || std::env::var("RETICENT_DATABASE").ok();
    given.or_else(of_environment).filter(|url| !url.is_empty()).map(DatabaseUrl::from)
}
