//! The Debian package, made of files with `dpkg-deb`, and its test.
//!
//! `cargo deb` would make the same from a table in `Cargo.toml`, and takes minutes to compile on every clean machine; `dpkg-deb` is on every Debian
//! already. The test packs the programs that the other tests have built, as they are, so that it costs seconds.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    made::{Made, Smoke},
    tools::{
        VERSION, binary, cargo, debian_packages, on_path, output, root, root_command, skip, step,
    },
};

/// Name of the package where it is skipped or tested.
const NAME: &str = "Debian package";

/// The programs of the package: for people at a desk, and for the unit.
const PROGRAMS: [&str; 2] = ["reticent", "reticent-server"];

/// The reason for which it is skipped on other systems.
const NO_DEBIAN: &str = "dpkg-deb is missing: this is no Debian";

/// The files of the package: where they are here, where they go, and their mode.
const FILES: [(&str, &str, u32); 15] = [
    ("packaging/debian/conffiles", "DEBIAN/conffiles", 0o644),
    ("packaging/debian/postinst", "DEBIAN/postinst", 0o755),
    ("packaging/debian/prerm", "DEBIAN/prerm", 0o755),
    ("packaging/debian/postrm", "DEBIAN/postrm", 0o755),
    ("packaging/debian/reticent.service", "usr/lib/systemd/system/reticent.service", 0o644),
    ("packaging/debian/reticent.sysusers", "usr/lib/sysusers.d/reticent.conf", 0o644),
    ("packaging/debian/reticent.default", "etc/default/reticent", 0o644),
    ("examples/loops.toml", "etc/reticent/loops.toml", 0o644),
    (
        "packaging/prometheus/reticent.rules.yml",
        "usr/share/doc/reticent/examples/reticent.rules.yml",
        0o644,
    ),
    ("packaging/debian/copyright", "usr/share/doc/reticent/copyright", 0o644),
    ("LICENSE-MIT", "usr/share/doc/reticent/LICENSE-MIT", 0o644),
    ("CHANGELOG.md", "usr/share/doc/reticent/CHANGELOG.md", 0o644),
    ("docs/reference/service.md", "usr/share/doc/reticent/service.md", 0o644),
    ("docs/guides/devices.md", "usr/share/doc/reticent/devices.md", 0o644),
    ("docs/guides/operations.md", "usr/share/doc/reticent/operations.md", 0o644),
];

/// Builds the package for people: `target/debian/reticent_VERSION_ARCHITECTURE.deb`.
pub fn build() -> Result<PathBuf, String> {
    let packages = ["--package", "reticent-cli", "--package", "reticent-server"];
    cargo(
        "programs",
        &[&["build", "--profile", "dist", "--quiet", "--bins"][..], &packages].concat(),
    )?;
    let (built, stripped) = (binary().with_file_name("../dist"), stripped());
    for name in PROGRAMS {
        let to = stripped.join(name);
        make_folder(&to)?;
        step("strip", Command::new("strip").arg("-o").arg(to).arg(built.join(name)))?;
    }
    let package = pack(&tree(&stripped, VERSION)?, VERSION, "xz")?;
    eprintln!("== {}", package.display());
    Ok(package)
}

/// Builds the package for people, and installs, upgrades and purges it where that is possible.
pub fn release() -> Result<Made, String> {
    if !on_path("dpkg-deb") {
        return Ok(Made { files: Vec::new(), smoke: Smoke::Skipped(NO_DEBIAN.to_string()) });
    }
    let package = build()?;
    let smoke = match can_install(fetch()) {
        Err(problem) => Smoke::Skipped(problem),
        Ok(()) => {
            upgrade(&package, VERSION, &stripped())?;
            Smoke::Passed("`dpkg --install`, serve, upgrade, purge")
        }
    };
    Ok(Made { files: vec![package], smoke })
}

/// The folder with the programs of the package for people.
fn stripped() -> PathBuf {
    root().join("target/debian/programs")
}

/// The folder with the programs that the tests built.
fn built() -> PathBuf {
    binary().with_file_name("")
}

/// Installs what the test needs and a machine may lack.
pub fn fetch() -> Result<(), String> {
    if on_path("systemd-analyze") { Ok(()) } else { debian_packages(&["systemd"]) }
}

/// Installs, starts, upgrades, removes and purges packages of the built programs, where this is a Debian and we are root.
pub fn test(fetched: Result<(), String>) -> Result<(), String> {
    if let Err(problem) = can_install(fetched) {
        return skip(NAME, &problem);
    }
    // A version of its own: the package for people stays where it is.
    let version = format!("{VERSION}~test");
    let package = pack(&tree(&built(), &version)?, &version, "none")?;
    upgrade(&package, &version, &built())
}

/// Checks that this machine can install the package; the error is the reason if not.
fn can_install(fetched: Result<(), String>) -> Result<(), String> {
    if !on_path("dpkg-deb") {
        return Err(NO_DEBIAN.to_string());
    }
    match output(Command::new("id").arg("--user"))?.as_str() {
        "0" => fetched,
        _ => Err("it is installed, which only root may do".to_string()),
    }
}

/// Installs a package, upgrades it to a later one of the same programs with another file of loops, and purges it.
fn upgrade(package: &Path, version: &str, programs: &Path) -> Result<(), String> {
    let later = format!("{version}+upgrade");
    let second = tree(programs, &later)?;
    let loops = second.join("etc/reticent/loops.toml");
    let changed = fs::read_to_string(&loops).map_err(|error| named(&loops, &error))?;
    write(&loops, &format!("# Of the new version.\n{changed}"), 0o644)?;
    let new = pack(&second, &later, "none")?;
    step(NAME, root_command("python3").arg("packaging/debian/test.py").arg(package).arg(new))
}

/// All files of a package in a folder of its version.
fn tree(programs: &Path, version: &str) -> Result<PathBuf, String> {
    let tree = root().join("target/debian").join(version);
    if tree.exists() {
        fs::remove_dir_all(&tree).map_err(|error| named(&tree, &error))?;
    }
    for (from, to, mode) in FILES {
        copy(&root().join(from), &tree.join(to), mode)?;
    }
    let mut bytes = Vec::new();
    for name in PROGRAMS {
        let program = tree.join("usr/bin").join(name);
        copy(&programs.join(name), &program, 0o755)?;
        bytes.extend(fs::read(&program).map_err(|error| named(&program, &error))?);
    }
    let template = root().join("packaging/debian/control");
    let template = fs::read_to_string(&template).map_err(|error| named(&template, &error))?;
    let control = template
        .replace("VERSION", version)
        .replace("ARCHITECTURE", &architecture()?)
        .replace("SIZE", &bytes.len().div_ceil(1024).to_string())
        .replace("GLIBC", &format!("2.{}", newest_glibc(&bytes)));
    write(&tree.join("DEBIAN/control"), &control, 0o644)?;
    Ok(tree)
}

/// Packs a folder; the files are owned by root, for any user that packs them.
fn pack(tree: &Path, version: &str, compression: &str) -> Result<PathBuf, String> {
    let name = format!("reticent_{version}_{}.deb", architecture()?);
    let package = root().join("target/debian").join(name);
    let mut command = Command::new("dpkg-deb");
    command.args(["--root-owner-group", &format!("-Z{compression}"), "--build"]);
    step("dpkg-deb", command.arg(tree).arg(&package))?;
    Ok(package)
}

/// The newest minor version of glibc 2 whose symbols a program names.
fn newest_glibc(program: &[u8]) -> u32 {
    let prefix = b"GLIBC_2.";
    let names = program.windows(prefix.len()).enumerate().filter(|(_, window)| window == prefix);
    let minor = |(at, _): (usize, &[u8])| {
        let digits = program[at + prefix.len()..].iter().take_while(|byte| byte.is_ascii_digit());
        digits.fold(0, |number, digit| 10 * number + u32::from(digit - b'0'))
    };
    // Longer runs of digits are no version.
    names.map(minor).filter(|minor| *minor < 1000).max().unwrap_or(31)
}

fn architecture() -> Result<String, String> {
    output(Command::new("dpkg").arg("--print-architecture"))
}

fn copy(from: &Path, to: &Path, mode: u32) -> Result<(), String> {
    make_folder(to)?;
    fs::copy(from, to).map_err(|error| named(from, &error))?;
    set_mode(to, mode)
}

fn write(to: &Path, text: &str, mode: u32) -> Result<(), String> {
    make_folder(to)?;
    fs::write(to, text).map_err(|error| named(to, &error))?;
    set_mode(to, mode)
}

/// Makes the folders of a file. Their mode does not depend on the umask of the user that packs.
fn make_folder(path: &Path) -> Result<(), String> {
    let folder = path.parent().ok_or("a file has a folder")?;
    fs::create_dir_all(folder).map_err(|error| named(folder, &error))?;
    let base = root().join("target/debian");
    folder
        .ancestors()
        .take_while(|folder| *folder != base)
        .try_for_each(|folder| set_mode(folder, 0o755))
}

fn set_mode(path: &Path, mode: u32) -> Result<(), String> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(|error| named(path, &error))
}

fn named(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_glibc_is_found_among_symbols() {
        let program = b"..GLIBC_2.2.5\0GLIBC_2.35\0GLIBC_2.9\0GLIBC_2.99999\0GLIBC_PRIVATE";
        assert_eq!(newest_glibc(program), 35);
        assert_eq!(newest_glibc(b""), 31);
    }

    #[test]
    fn every_file_of_the_package_is_here_and_every_conffile_is_packed() {
        for (from, _, _) in FILES {
            assert!(root().join(from).is_file(), "{from}");
        }
        let conffiles = fs::read_to_string(root().join("packaging/debian/conffiles")).unwrap();
        for conffile in conffiles.lines() {
            let packed = |(_, to, _): &(&str, &str, u32)| format!("/{to}") == conffile;
            assert!(FILES.iter().any(packed), "{conffile}");
        }
        let packed = FILES.iter().filter(|(_, to, _)| to.starts_with("etc/")).count();
        assert_eq!(packed, conffiles.lines().count(), "files in /etc belong to the operator");
    }
}
