//! Hashes the source code: trials stored by other code are computed again.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::Path,
};

fn main() {
    // Its values differ between releases of the standard library, whose code also affects results.
    let mut hasher = DefaultHasher::new();
    // Outside this repository the source of the core is not available; then only the version counts.
    for folder in ["src", "../core/src"] {
        println!("cargo:rerun-if-changed={folder}");
        add(Path::new(folder), &mut hasher);
    }
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    println!("cargo:rustc-env=RETICENT_SOURCE={version}-{:016x}", hasher.finish());
}

/// Hashes all files, in the order of their names.
fn add(path: &Path, hasher: &mut DefaultHasher) {
    if let Ok(entries) = fs::read_dir(path) {
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        paths.iter().for_each(|path| add(path, hasher));
    } else if let Ok(bytes) = fs::read(path) {
        bytes.hash(hasher);
    }
}
