//! The npm package: a person's device as WebAssembly, small enough for a page, with its tests in Node and in a browser.
//!
//! `wasm-opt`, the compiler of types and the driver of the browser are npm packages of `crates/device/npm/package-lock.json`. The module is
//! `crates/device/npm/js/reticent.wasm`, with which the folder `crates/device/npm` is the npm package.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    browser,
    made::{Made, Smoke},
    npm,
    tools::{VERSION, binary, empty_folder, root, root_command, skip, step},
    wasm,
};

/// The folder of the package.
const PACKAGE: &str = "crates/device/npm";

/// The test that an installed package passes too.
const INSTALLED: &str = "installed.test.mjs";

/// Keys come from one imported function, core leaves out what a page does not need, SHA-256 is a loop, and the stack is that of a small program.
const FLAGS: &str = "--cfg getrandom_backend=\"custom\" --cfg little --cfg sha2_backend_soft=\"compact\" -C link-arg=-zstack-size=262144";

/// Panics end the module at once, without the code that words them. Only a standard library that is built with it can do so.
const ABORT: &str = "-Zunstable-options -Cpanic=immediate-abort";

/// The module, in the package's folder `js`.
const MODULE: &str = "reticent.wasm";

/// Bytes, at most, as a page's server sends it to every browser of the last years: with brotli. One module for both kinds of devices: sealing and the accountant's
/// price of batches are a third of it.
const MOST_WITH_BROTLI: usize = 133_500;

/// The same with gzip, for servers that know nothing better.
const MOST_WITH_GZIP: usize = 158_500;

/// Installs missing packages. They come over the network.
pub fn fetch() -> Result<(), String> {
    browser::programs()?;
    wasm::fetch()?;
    npm::install(&root().join(PACKAGE))
}

/// Builds the module, if there is a compiler, and refuses one that is too large to download with a page.
pub fn build(fetched: &Result<(), String>) -> Result<(), String> {
    if let Err(problem) = fetched {
        return skip("a person's device as WebAssembly", problem);
    }
    let folder = root().join("target/web");
    let flags = match wasm::builds_standard_library() {
        true => format!("{FLAGS} {ABORT}"),
        false => FLAGS.to_string(),
    };
    let mut command = wasm::cargo("rustc");
    command
        .args(["--quiet", "--profile", "web", "--package", "reticent-device", "--lib"])
        // For other crates the library is no module.
        .args(["--crate-type", "cdylib"])
        .env("CARGO_TARGET_DIR", &folder)
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", flags);
    step(MODULE, &mut command)?;
    let module = root().join(PACKAGE).join("js").join(MODULE);
    let mut command = root_command(tool("wasm-opt"));
    command.arg(folder.join(wasm::TARGET).join("web/reticent_device.wasm"));
    command.args(["--gufa", "-Oz", "--converge", "--strip-producers", "--strip-debug"]);
    // Functions that are called once stay functions: more bytes before compression, and fewer after it.
    command.arg("--one-caller-inline-max-function-size=20");
    // What the compiler assumes of every engine of the last years.
    let features =
        ["bulk-memory", "sign-ext", "mutable-globals", "nontrapping-float-to-int", "multivalue"];
    command.args(features.map(|feature| format!("--enable-{feature}")));
    step("wasm-opt", command.arg("-o").arg(&module))?;
    check_size(&module)
}

/// Runs the package's tests in Node and in the browser, the service's with the built binary.
pub fn test(fetched: &Result<(), String>) -> Result<(), String> {
    if let Err(problem) = fetched {
        return skip("the JavaScript package", problem);
    }
    let mut types = root_command(tool("tsc"));
    types.args(["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022"]);
    step("types of the JavaScript package", types.arg("crates/device/npm/tests/types/use.ts"))?;
    let folder = root().join(PACKAGE).join("tests");
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.to_string_lossy().ends_with(".test.mjs"));
    files.sort();
    let mut node = root_command("node");
    node.env("RETICENT", binary()).env("CHROMIUM", browser::CHROMIUM);
    step("JavaScript package", node.arg("--test").args(files))
}

/// Packs the package, and installs it into an empty folder, in which a script makes reports with it.
pub fn release() -> Result<Made, String> {
    let fetched = fetch();
    if let Err(problem) = fetched {
        return Ok(Made { files: Vec::new(), smoke: Smoke::Skipped(problem) });
    }
    build(&fetched)?;
    let package = npm::pack(&root().join(PACKAGE), &format!("reticent-{VERSION}.tgz"))?;
    let folder = empty_folder("npm")?;
    npm::add(&package, &folder)?;
    let script = folder.join(INSTALLED);
    fs::copy(root().join(PACKAGE).join("tests").join(INSTALLED), &script)
        .map_err(|error| format!("{INSTALLED}: {error}"))?;
    let mut node = root_command("node");
    node.arg("--test").arg(script).current_dir(folder);
    step("installed npm package", node.env("RETICENT_VECTORS", root().join("vectors")))?;
    let smoke = "`npm install`, a report to a server and one through a shuffler";
    Ok(Made { files: vec![package], smoke: Smoke::Passed(smoke) })
}

/// A program of an npm package.
fn tool(name: &str) -> PathBuf {
    root().join(PACKAGE).join("node_modules/.bin").join(name)
}

/// Prints the sizes of the module, and refuses one that is too large to download with a page.
fn check_size(module: &Path) -> Result<(), String> {
    let script = "const z = require('zlib'), b = require('fs').readFileSync(process.argv[1]); \
                  console.log(b.length, z.gzipSync(b, { level: 9 }).length, z.brotliCompressSync(b).length)";
    let output = root_command("node").args(["-e", script]).arg(module).output();
    let output = output.map_err(|error| format!("node: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let sizes: Vec<usize> = text.split_whitespace().flat_map(str::parse).collect();
    let [plain, gzip, brotli] = sizes[..] else { return Err(format!("sizes: {text:?}")) };
    eprintln!("== {MODULE}: {plain} bytes, {gzip} with gzip, {brotli} with brotli");
    let limits = [(brotli, MOST_WITH_BROTLI, "brotli"), (gzip, MOST_WITH_GZIP, "gzip")];
    for (size, most, how) in limits {
        if size > most {
            return Err(format!("{MODULE} has {size} bytes with {how}, at most {most}"));
        }
    }
    Ok(())
}
