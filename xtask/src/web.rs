//! The npm package: a person's half as WebAssembly, small enough for a page, with its tests in Node and in a browser.
//!
//! `wasm-opt`, the compiler of types and the driver of the browser are npm packages of `crates/web/package-lock.json`. What is made is
//! `crates/web/js/reticent.wasm` and, for loops with a shuffler, `crates/web/js/sealed.wasm`, with which the folder `crates/web` is the npm package.

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
const PACKAGE: &str = "crates/web";

/// The test that an installed package passes too.
const INSTALLED: &str = "installed.test.mjs";

/// Keys come from one imported function, core leaves out what a page does not need, and the stack is that of a small program.
const FLAGS: &str =
    "--cfg getrandom_backend=\"custom\" --cfg little -C link-arg=-zstack-size=262144";

/// Panics end the module at once, without the code that words them. Only a standard library that is built with it can do so.
const ABORT: &str = "-Zunstable-options -Cpanic=immediate-abort";

/// A module, and how large it may be.
struct Module {
    /// The file.
    name: &'static str,
    /// The features that it is built with.
    features: &'static str,
    /// Bytes, at most, as a page's server sends it to every browser of the last years: with brotli.
    most_with_brotli: usize,
    /// The same with gzip, for servers that know nothing better, so that it does not grow.
    most_with_gzip: usize,
}

/// The half of loops whose devices report to the server, and that of loops with a shuffler.
const MODULES: [Module; 2] = [
    Module {
        name: "reticent.wasm",
        features: "",
        most_with_brotli: 80_000,
        most_with_gzip: 92_500,
    },
    Module {
        name: "sealed.wasm",
        features: "sealed",
        most_with_brotli: 117_100,
        most_with_gzip: 140_200,
    },
];

/// Installs what is missing. It comes over the network.
pub fn fetch() -> Result<(), String> {
    browser::programs()?;
    wasm::fetch()?;
    npm::install(&root().join(PACKAGE))
}

/// Builds the modules, if there is a compiler.
pub fn build(fetched: &Result<(), String>) -> Result<(), String> {
    match fetched {
        Err(problem) => skip("a person's half as WebAssembly", problem),
        Ok(()) => MODULES.iter().try_for_each(build_module),
    }
}

fn build_module(built: &Module) -> Result<(), String> {
    let folder = root().join("target/web");
    let flags = match wasm::builds_standard_library() {
        true => format!("{FLAGS} {ABORT}"),
        false => FLAGS.to_string(),
    };
    let mut command = wasm::cargo("build");
    command
        .args(["--quiet", "--profile", "web", "--package", "reticent-web"])
        .args(["--features", built.features])
        .env("CARGO_TARGET_DIR", &folder)
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", flags);
    step(built.name, &mut command)?;
    let module = root().join(PACKAGE).join("js").join(built.name);
    let mut command = root_command(tool("wasm-opt"));
    command.arg(folder.join(wasm::TARGET).join("web/reticent_web.wasm"));
    command.args(["--gufa", "-Oz", "--converge", "--strip-producers", "--strip-debug"]);
    // Functions that are called once stay functions: more bytes before compression, and fewer after it.
    command.arg("--one-caller-inline-max-function-size=20");
    // What the compiler assumes of every engine of the last years.
    let features =
        ["bulk-memory", "sign-ext", "mutable-globals", "nontrapping-float-to-int", "multivalue"];
    command.args(features.map(|feature| format!("--enable-{feature}")));
    step("wasm-opt", command.arg("-o").arg(&module))?;
    check_size(built, &module)
}

/// Runs the package's tests in Node and in the browser, the service's with the built binary.
pub fn test(fetched: &Result<(), String>) -> Result<(), String> {
    if let Err(problem) = fetched {
        return skip("the JavaScript package", problem);
    }
    let mut types = root_command(tool("tsc"));
    types.args(["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022"]);
    step("types of the JavaScript package", types.arg("crates/web/tests/types/use.ts"))?;
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

/// Prints how large a module is, and refuses one that is too large to download with a page.
fn check_size(built: &Module, module: &Path) -> Result<(), String> {
    let script = "const z = require('zlib'), b = require('fs').readFileSync(process.argv[1]); \
                  console.log(b.length, z.gzipSync(b, { level: 9 }).length, z.brotliCompressSync(b).length)";
    let output = root_command("node").args(["-e", script]).arg(module).output();
    let output = output.map_err(|error| format!("node: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let sizes: Vec<usize> = text.split_whitespace().flat_map(str::parse).collect();
    let [plain, gzip, brotli] = sizes[..] else { return Err(format!("sizes: {text:?}")) };
    let name = built.name;
    eprintln!("== {name}: {plain} bytes, {gzip} with gzip, {brotli} with brotli");
    let limits = [(brotli, built.most_with_brotli, "brotli"), (gzip, built.most_with_gzip, "gzip")];
    for (size, most, how) in limits {
        if size > most {
            return Err(format!("{name} has {size} bytes with {how}, at most {most}"));
        }
    }
    Ok(())
}
