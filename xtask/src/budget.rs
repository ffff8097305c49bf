//! Time of the README's two commands on a fresh machine: from an empty clone of the last commit and an empty target folder to their first result.
//!
//! ```text
//! git clone -> cargo fetch -> | cargo run --release -- demo                                      to its end           goal 90 s, at most 120 s
//!                             | cargo run --release --bin reticent-server -- serve --demo        to its address       at most 200 s
//! ```
//!
//! Packages of others are fetched before the clock starts. The budgets hold for two quiet cores; walls of a busy machine say nothing, so that only
//! `--enforce` fails by them, and no test runs this. Processor seconds are measured for each crate: cargo calls this program in place of `rustc`
//! (`RUSTC_WRAPPER`), which calls `rustc` and notes its time.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fmt::Write as _,
    fs,
    io::{BufRead, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::Instant,
};

use crate::{
    processor,
    tools::{empty_folder, root, step},
};

/// Variable that names the file for the time of each crate; with it this program stands in place of `rustc`.
const TIMES: &str = "RETICENT_RUSTC_TIMES";

/// Crates with fewer processor seconds share a line.
const SMALL: f64 = 1.0;

/// A command of the README, and its budget.
struct Budget {
    command: &'static str,
    arguments: &'static [&'static str],
    /// Seconds, at most.
    most: f64,
    /// Text of the line on stderr at which the clock stops; without it, the end of the command.
    until: Option<&'static str>,
}

const BUDGETS: [Budget; 2] = [
    Budget {
        command: "cargo run --release -- demo",
        arguments: &["run", "--release", "--", "demo"],
        most: 120.0,
        until: None,
    },
    Budget {
        command: "cargo run --release --bin reticent-server -- serve --demo",
        arguments: &["run", "--release", "--bin", "reticent-server", "--", "serve", "--demo"],
        most: 200.0,
        until: Some(" on http://"),
    },
];

/// Measures both commands, or those whose text has the filter, and prints their tables; if `enforce`, fails if one took longer than its budget.
pub fn run(filter: Option<&str>, enforce: bool) -> Result<(), String> {
    let clone = clone()?;
    let mut over = Vec::new();
    for budget in BUDGETS.iter().filter(|one| filter.is_none_or(|text| one.command.contains(text)))
    {
        let measured = measure(budget, &clone)?;
        println!("{}", report(budget, &measured));
        if measured.wall > budget.most {
            over.push(format!(
                "{}: {:.0} s; at most {:.0} s",
                budget.command, measured.wall, budget.most
            ));
        }
    }
    match (enforce, over.is_empty()) {
        (true, false) => Err(format!("over budget: {}", over.join("; "))),
        _ => Ok(()),
    }
}

/// Clones the last commit into an empty folder, and fetches the packages of others.
fn clone() -> Result<PathBuf, String> {
    let folder = empty_folder("budget")?.join("clone");
    let mut git = Command::new("git");
    git.args(["clone", "--quiet", "--depth", "1"]);
    git.arg(format!("file://{}", root().display())).arg(&folder);
    step("git clone", &mut git)?;
    step("cargo fetch", Command::new("cargo").args(["fetch", "--locked"]).current_dir(&folder))?;
    Ok(folder)
}

/// Times of one command.
struct Measured {
    wall: f64,
    /// Seconds until the last crate was compiled.
    built: f64,
    processor: Option<f64>,
    /// Processor seconds of each crate's compiler, its linker included.
    crates: BTreeMap<String, f64>,
}

/// Runs a command with an empty target folder.
fn measure(budget: &Budget, clone: &Path) -> Result<Measured, String> {
    let folder = empty_folder("budget-target")?;
    let times = folder.join("rustc-times");
    let this = env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let mut command = Command::new("cargo");
    command
        .args(budget.arguments)
        .current_dir(clone)
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env("RUSTC_WRAPPER", this)
        .env(TIMES, &times)
        .stderr(Stdio::piped());
    eprintln!("== {}", budget.command);
    let failed = |error: std::io::Error| format!("{}: {error}", budget.command);
    let start = Instant::now();
    let before = processor::of_children();
    let mut child = command.spawn().map_err(failed)?;
    let printed = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut reached = false;
    for line in printed.lines() {
        let line = line.map_err(failed)?;
        eprintln!("{line}");
        if budget.until.is_some_and(|text| line.contains(text)) {
            reached = true;
            break;
        }
    }
    let wall = start.elapsed().as_secs_f64();
    let processor = match reached {
        // cargo has become the program, which is ended here.
        true => {
            let seconds = processor::so_far(&child);
            child.kill().and_then(|()| child.wait()).map_err(failed)?;
            seconds
        }
        false => {
            let status = child.wait().map_err(failed)?;
            if budget.until.is_some() || !status.success() {
                return Err(format!("{} ended without a result ({status})", budget.command));
            }
            processor::of_children().zip(before).map(|(after, before)| after - before)
        }
    };
    let noted = fs::read_to_string(&times).map_err(failed)?;
    let (crates, last) = read(&noted);
    let first = std::time::SystemTime::now() - start.elapsed();
    let began = first.duration_since(std::time::UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64());
    Ok(Measured { wall, built: last - began, processor, crates })
}

/// The time of each crate, and when the last one was compiled. A line is its name, processor seconds, and the time of day in seconds.
fn read(times: &str) -> (BTreeMap<String, f64>, f64) {
    let mut crates = BTreeMap::new();
    let mut last = 0.0_f64;
    for line in times.lines() {
        if let [name, seconds, at] = line.split(' ').collect::<Vec<_>>()[..] {
            *crates.entry(name.to_string()).or_insert(0.0) += seconds.parse().unwrap_or(0.0);
            last = last.max(at.parse().unwrap_or(0.0));
        }
    }
    (crates, last)
}

/// The table of one command.
fn report(budget: &Budget, measured: &Measured) -> String {
    let Measured { wall, built, processor, crates } = measured;
    let mut text = format!(
        "{}\n  wall {wall:.1} s of {:.0} s, build {built:.1} s",
        budget.command, budget.most
    );
    let compiled: f64 = crates.values().sum();
    if let Some(all) = processor {
        let _ = write!(text, "; processor {all:.1} s, compiler {compiled:.1} s");
    }
    text += "\n\n  | crate | processor, s |\n  | --- | --: |\n";
    let own = |name: &str| name.starts_with("reticent");
    let mut rows: Vec<_> = crates.iter().collect();
    rows.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let (large, small): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|(name, seconds)| own(name) || **seconds >= SMALL);
    for (name, seconds) in large {
        let _ = writeln!(text, "  | {name} | {seconds:.1} |");
    }
    let rest: f64 = small.iter().map(|(_, seconds)| **seconds).sum();
    let _ = writeln!(text, "  | {} smaller crates | {rest:.1} |", small.len());
    let ours: f64 = crates.iter().filter(|(name, _)| own(name)).map(|(_, seconds)| seconds).sum();
    let _ = writeln!(text, "  | ours together | {ours:.1} |");
    let _ = writeln!(text, "  | packages of others together | {:.1} |", compiled - ours);
    if let Some(all) = processor {
        let _ = writeln!(
            text,
            "  | cargo, build scripts, C, the program itself | {:.1} |",
            all - compiled
        );
    }
    text
}

/// The file for times, if cargo calls this program in place of `rustc`.
pub fn stands_for_rustc() -> Option<OsString> {
    env::var_os(TIMES)
}

/// Calls `rustc` as cargo would, and adds its time to the file.
pub fn rustc(times: OsString) -> ExitCode {
    let mut arguments = env::args_os().skip(1);
    let Some(compiler) = arguments.next() else { return ExitCode::FAILURE };
    let arguments: Vec<OsString> = arguments.collect();
    let status = Command::new(compiler).args(&arguments).env_remove(TIMES).status();
    let seconds = processor::of_children().unwrap_or(0.0);
    if let Some(name) = crate_name(&arguments) {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let line = format!("{name} {seconds:.2} {:.2}\n", now.map_or(0.0, |now| now.as_secs_f64()));
        // One write of one line: those of programs beside it are not torn.
        let file = fs::OpenOptions::new().create(true).append(true).open(times);
        if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
            eprintln!("{name}: the time is not noted: {error}");
        }
    }
    let code = status.ok().and_then(|status| status.code()).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// The crate that a call of `rustc` compiles. Build scripts of all packages share a name, and a program is distinguished from the library beside it.
fn crate_name(arguments: &[OsString]) -> Option<String> {
    let after = |key: &str| {
        let place = arguments.iter().position(|argument| argument == key)?;
        arguments.get(place + 1)?.to_str()
    };
    let name = after("--crate-name").filter(|name| *name != "___")?;
    Some(match (name, after("--crate-type")) {
        ("build_script_build" | "build_script_main", _) => "build_scripts".to_string(),
        (name, Some("bin")) => format!("{name}(program)"),
        (name, _) => name.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(arguments: &str) -> Option<String> {
        crate_name(&arguments.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn crates_are_named_by_their_kind() {
        assert_eq!(named("--crate-name libm --crate-type lib"), Some("libm".into()));
        let program = named("--crate-name reticent --edition=2024 --crate-type bin");
        assert_eq!(program, Some("reticent(program)".into()));
        let script = named("--crate-name build_script_build --crate-type bin");
        assert_eq!(script, Some("build_scripts".into()));
        assert_eq!(named("-vV"), None);
        assert_eq!(named("- --crate-name ___ --print=file-names"), None);
    }

    #[test]
    fn times_of_one_crate_are_added_and_small_crates_share_a_line() {
        let (crates, last) =
            read("serde 2.50 10.0\nlibm 0.10 12.5\nserde 0.50 11.0\nreticent 0.20 12.0\n");
        assert_eq!((crates["serde"], last), (3.0, 12.5));
        let measured = Measured { wall: 100.0, built: 90.0, processor: Some(5.0), crates };
        let printed = report(&BUDGETS[0], &measured);
        for line in [
            "wall 100.0 s of 120 s",
            "| serde | 3.0 |",
            "| reticent | 0.2 |",
            "| 1 smaller crates | 0.1 |",
            "| packages of others together | 3.1 |",
            "| cargo, build scripts, C, the program itself | 1.7 |",
        ] {
            assert!(printed.contains(line), "{line}: {printed}");
        }
    }
}
