//! The program `reticent-server`: [`reticent_server::commands`].

use std::process::ExitCode;

/// The store frees and takes the pages of every commit, which the system's allocator gives back to the kernel in between.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    reticent_server::commands::run()
}
