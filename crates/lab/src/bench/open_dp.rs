//! OpenDP's Python package on the same task in the same run, where it is installed.

use std::{path::PathBuf, process::Command};

const SCRIPT: &str = r#"
import statistics, time
import opendp.prelude as dp
dp.enable_features("contrib")
def milliseconds(atom, zero):
    release = dp.m.make_gaussian(dp.vector_domain(atom), dp.l2_distance(T=float), scale=300.0)
    times = []
    for _ in range(9):
        start = time.perf_counter()
        release([zero] * 560)
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)
print(milliseconds(dp.atom_domain(T=float, nan=False), 0.0), milliseconds(dp.atom_domain(T="i64"), 0))
"#;

/// Milliseconds OpenDP takes for 560 Gaussians of sigma 300: (floats, integers).
///
/// Looks for an interpreter in `RETICENT_PYTHON`, in the environment `cargo xtask test` makes, and on the path.
pub fn milliseconds() -> Option<(f64, f64)> {
    let candidates = [
        std::env::var_os("RETICENT_PYTHON").map(PathBuf::from),
        Some(PathBuf::from("target/oracles/bin/python")),
        Some(PathBuf::from("python3")),
    ];
    candidates.into_iter().flatten().find_map(|python| {
        let output = Command::new(python).args(["-c", SCRIPT]).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let mut numbers = text.split_whitespace().map(|word| word.parse::<f64>().ok());
        Some((numbers.next()??, numbers.next()??))
    })
}
