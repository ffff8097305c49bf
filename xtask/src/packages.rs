//! What is published, as packages for a registry.

use crate::tools::{root, root_command, step};

/// In the order of their dependencies.
const NAMES: [&str; 7] = [
    "reticent",
    "reticent-durable",
    "reticent-lab",
    "reticent-page",
    "reticent-sealed",
    "reticent-server",
    "reticent-cli",
];

/// Packs what is published; if `verify`, unpacks and compiles it too, which finds files that a package needs but does not contain.
///
/// Compiling takes minutes, because dependencies are built again, so the tests skip it.
pub fn pack(verify: bool) -> Result<(), String> {
    let mut command = root_command("cargo");
    command.args(["package", "--quiet", "--allow-dirty"]);
    for name in NAMES {
        command.args(["--package", name]);
    }
    command
        .args((!verify).then_some("--no-verify"))
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0")
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_TARGET_DIR", root().join("target/package"));
    step("packages for a registry", &mut command)
}
