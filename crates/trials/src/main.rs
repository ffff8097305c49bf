//! The program of the service with one command more, `bench`.

use std::process::ExitCode;

/// As in `reticent-server`, so that what is measured is what is deployed.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("bench") => reticent_trials::bench::command(),
        _ => reticent_server::commands::run(),
    }
}
