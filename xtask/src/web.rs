//! `cargo xtask web`: a person's half as WebAssembly, small enough for a page, with its tests.
//!
//! The compiler is the toolchain's own if it has the target, and else Debian's; `wasm-opt` is the npm registry's `binaryen`. What is made is
//! `crates/web/js/reticent.wasm`, with which the folder `crates/web` is the npm package.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{debian_packages, installed_target, root, root_command, skip, step};

const TARGET: &str = "wasm32-unknown-unknown";

/// Keys come from one imported function, and the stack is that of a small program.
const FLAGS: &str = "--cfg getrandom_backend=\"custom\" -C link-arg=-zstack-size=262144";

/// Exact versions, so that the same bytes come out.
const BINARYEN: &str = "binaryen@132.0.0";
const TYPESCRIPT: &str = "typescript@5.9.3";
const PLAYWRIGHT: &str = "playwright-core@1.65.0";

/// Bytes after gzip, at most.
const MOST_COMPRESSED: usize = 80_000;

/// Builds and tests the package.
pub fn web() -> Result<(), String> {
    match build()? {
        Some(()) => test(),
        None => Ok(()),
    }
}

/// Builds the module; `None` if this machine cannot.
fn build() -> Result<Option<()>, String> {
    let name = "a person's half as WebAssembly";
    let mut command = match compiler() {
        Ok(command) => command,
        Err(problem) => return skip(name, &problem).map(|()| None),
    };
    command
        .args(["build", "--quiet", "--profile", "web", "--package", "reticent-web"])
        .args(["--target", TARGET, "--target-dir"])
        .arg(root().join("target/web"))
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", FLAGS);
    step(name, &mut command)?;
    let built = root().join("target/web").join(TARGET).join("web/reticent_web.wasm");
    let module = root().join("crates/web/js/reticent.wasm");
    let optimizer = match npm_tool(BINARYEN, "wasm-opt") {
        Ok(optimizer) => optimizer,
        Err(problem) => return skip(name, &problem).map(|()| None),
    };
    let mut command = root_command(optimizer);
    command.arg(built).args(["-Oz", "--converge", "--strip-producers", "--strip-debug"]);
    // What the compiler assumes of every engine of the last years.
    let features =
        ["bulk-memory", "sign-ext", "mutable-globals", "nontrapping-float-to-int", "multivalue"];
    command.args(features.map(|feature| format!("--enable-{feature}")));
    step("wasm-opt", command.arg("-o").arg(&module))?;
    size(&module)?;
    Ok(Some(()))
}

/// Cargo with a compiler for the target.
///
/// Debian ships the standard library for WebAssembly as source (`rust-web-src`), which only its own compiler accepts.
fn compiler() -> Result<Command, String> {
    if installed_target(TARGET) {
        return Ok(root_command("cargo"));
    }
    let debian = ["/usr/bin/cargo", "/usr/bin/rustc", "/usr/bin/wasm-ld"];
    if !debian.iter().all(|tool| Path::new(tool).exists()) {
        debian_packages(&["rustc-web", "cargo-web", "rust-web-src", "lld"])?;
    }
    let mut command = root_command(debian[0]);
    command
        .arg("-Zbuild-std=std,panic_abort")
        .env("RUSTC", debian[1])
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", debian[2])
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("CARGO");
    Ok(command)
}

/// A program of an npm package, installed below `target`.
fn npm_tool(package: &str, tool: &str) -> Result<PathBuf, String> {
    let folder = root().join("target/npm");
    let stamp = folder.join(package.replace('@', "-"));
    if !stamp.exists() {
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut npm = root_command("npm");
        npm.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"]);
        step(&format!("npm install {package}"), npm.arg(&folder).arg(package))?;
        fs::write(&stamp, "").map_err(|error| format!("{}: {error}", stamp.display()))?;
    }
    Ok(folder.join("node_modules/.bin").join(tool))
}

/// Prints how large the module is, and refuses one that is too large to download with a page.
fn size(module: &Path) -> Result<(), String> {
    let script = "const z = require('zlib'), b = require('fs').readFileSync(process.argv[1]); \
                  console.log(b.length, z.gzipSync(b, { level: 9 }).length, z.brotliCompressSync(b).length)";
    let output = root_command("node").args(["-e", script]).arg(module).output();
    let output = output.map_err(|error| format!("node: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let sizes: Vec<usize> = text.split_whitespace().flat_map(str::parse).collect();
    let [plain, gzip, brotli] = sizes[..] else { return Err(format!("sizes: {text:?}")) };
    eprintln!("== reticent.wasm: {plain} bytes, {gzip} with gzip, {brotli} with brotli");
    if gzip > MOST_COMPRESSED {
        return Err(format!("reticent.wasm has {gzip} bytes with gzip, at most {MOST_COMPRESSED}"));
    }
    Ok(())
}

/// Runs the package's tests in Node and in Chromium.
fn test() -> Result<(), String> {
    let chromium = match Path::new("/usr/bin/chromium").exists() {
        true => Ok(()),
        false => debian_packages(&["chromium"]),
    };
    let driver = chromium.and_then(|()| npm_tool(PLAYWRIGHT, "playwright-core"));
    if let Err(problem) = driver {
        skip("the JavaScript package in Chromium", &problem)?;
    }
    match npm_tool(TYPESCRIPT, "tsc") {
        Ok(compiler) => {
            let mut types = root_command(compiler);
            types.args(["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022"]);
            step("types of the JavaScript package", types.arg("crates/web/tests/types/use.ts"))?;
        }
        Err(problem) => skip("types of the JavaScript package", &problem)?,
    }
    let folder = root().join("crates/web/tests");
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.to_string_lossy().ends_with(".test.mjs"));
    files.sort();
    step("JavaScript package", root_command("node").arg("--test").args(files))
}
