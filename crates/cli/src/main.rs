//! The program `reticent`: the command line of the package's library, with no kinds but those of the laboratory.

use std::process::ExitCode;

/// The store frees and takes the pages of every commit, which the system's allocator gives back to the kernel in between.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    reticent_cli::run_with(&reticent_lab::Kinds::default())
}
