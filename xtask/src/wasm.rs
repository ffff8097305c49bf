//! Core as WebAssembly, with the target of the toolchain, which rustup adds, and else with Debian's.
//!
//! Debian ships the standard library for WebAssembly as source (`rust-web-src`), which only its own compiler accepts.

use std::{path::Path, process::Command};

use crate::tools::{debian_packages, on_path, root, root_command, skip, step};

/// The target's name.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// Debian's compiler and linker.
const DEBIAN: [&str; 3] = ["/usr/bin/cargo", "/usr/bin/rustc", "/usr/bin/wasm-ld"];

/// Installs a compiler for WebAssembly, if there is none. It comes over the network.
pub fn fetch() -> Result<(), String> {
    if installed_target() {
        return Ok(());
    }
    if on_path("rustup") {
        return step("rustup", root_command("rustup").args(["target", "add", TARGET]));
    }
    if DEBIAN.iter().all(|tool| Path::new(tool).exists()) {
        return Ok(());
    }
    debian_packages(&["rustc-web", "cargo-web", "rust-web-src", "lld"])
}

/// Compiles core for the browser, if there is a compiler.
pub fn build(fetched: Result<(), String>) -> Result<(), String> {
    if let Err(problem) = fetched {
        return skip("core as WebAssembly", &problem);
    }
    let mut command = cargo("build");
    command
        .args(["--quiet", "--package", "reticent", "--features", "getrandom/wasm_js"])
        .env("CARGO_TARGET_DIR", root().join("target/wasm"))
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0");
    step("core as WebAssembly", &mut command)
}

/// True if the standard library is built with the program, as Debian's compiler needs it.
pub fn builds_standard_library() -> bool {
    !installed_target()
}

/// A task of cargo with a compiler for WebAssembly.
pub fn cargo(task: &str) -> Command {
    let debian = builds_standard_library();
    let mut command = root_command(if debian { DEBIAN[0] } else { "cargo" });
    command.args([task, "--target", TARGET]);
    if debian {
        command
            .args(["-Zbuild-std=std,panic_abort", "-Zbuild-std-features=optimize_for_size"])
            .env("RUSTC", DEBIAN[1])
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", DEBIAN[2])
            .env_remove("RUSTUP_TOOLCHAIN")
            .env_remove("CARGO");
    }
    command
}

/// True if the compiler that runs this has the standard library of the target.
fn installed_target() -> bool {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output();
    sysroot.is_ok_and(|output| {
        let folder = String::from_utf8_lossy(&output.stdout).trim().to_string();
        Path::new(&folder).join("lib/rustlib").join(TARGET).exists()
    })
}
