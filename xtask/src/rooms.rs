//! The dependencies between the top-level modules ("rooms") of a crate, read from the source without compiling it.
//!
//! A path that begins with `crate::` counts as a use of the room that is its first name; a name that `lib.rs` re-exports
//! counts as a use of the room it comes from, and so does a path in an attribute, `default = "crate::wire::one"`. Code under
//! `#[cfg(test)]`, comments and other strings do not count. Rooms that use each other cannot be read, tested or moved one at a
//! time, so `cargo xtask test` refuses cycles.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Every room with the rooms it uses.
pub type Uses = BTreeMap<String, BTreeSet<String>>;

/// Reads the rooms of the crate whose `lib.rs`, or else `main.rs`, is in `source`.
pub fn read(source: &Path) -> Result<Uses, String> {
    let library = source.join("lib.rs");
    let root = if library.exists() { library } else { source.join("main.rs") };
    let root = code(&read_file(&root)?);
    let mut uses: Uses = declared(&root).into_iter().map(|room| (room, BTreeSet::new())).collect();
    let exports = exported(&root);
    for room in uses.keys().cloned().collect::<Vec<_>>() {
        let mut found = BTreeSet::new();
        for file in [source.join(format!("{room}.rs")), source.join(&room)] {
            for (path, depth) in files(&file, 1)? {
                let text = code(&read_file(&path)?);
                let up = "super::".repeat(depth);
                for name in named(&text, "crate::").into_iter().chain(named(&text, &up)) {
                    found.insert(exports.get(&name).cloned().unwrap_or(name));
                }
            }
        }
        found.remove(&room);
        found.retain(|name| uses.contains_key(name));
        uses.insert(room, found);
    }
    Ok(uses)
}

/// Fails if rooms of one of the packages use each other.
pub fn refuse_cycles(packages: &[PathBuf]) -> Result<(), String> {
    for package in packages {
        let found = cycles(&read(&package.join("src"))?);
        if let Some(group) = found.first() {
            let (name, group) = (package.display(), group.join(" <-> "));
            return Err(format!(
                "{name}: rooms {group} use each other; move what both need into a third room"
            ));
        }
    }
    Ok(())
}

/// Groups of rooms that use each other, directly or through others.
pub fn cycles(uses: &Uses) -> Vec<Vec<String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> =
        uses.keys().map(|room| (room, reachable(uses, room))).collect();
    let mut groups: BTreeSet<Vec<String>> = BTreeSet::new();
    for (room, reached) in &reach {
        if reached.contains(room) {
            let group = reached.iter().filter(|other| reach[**other].contains(room));
            groups.insert(group.map(|other| (*other).clone()).collect());
        }
    }
    groups.into_iter().collect()
}

/// A room and all rooms that use it, directly or through others.
pub fn users(uses: &Uses, room: &str) -> BTreeSet<String> {
    let reaching =
        uses.keys().filter(|other| reachable(uses, other).iter().any(|used| *used == room));
    reaching.cloned().chain([room.to_string()]).collect()
}

fn reachable<'a>(uses: &'a Uses, room: &str) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&String> = uses[room].iter().collect();
    while let Some(next) = open.pop() {
        if reached.insert(next) {
            open.extend(&uses[next]);
        }
    }
    reached
}

/// Source files at or below a path, with the depth of their module below the crate's root; modules under `#[cfg(test)]` are left out.
fn files(path: &Path, depth: usize) -> Result<Vec<(PathBuf, usize)>, String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if !path.exists() {
        return Ok(Vec::new());
    }
    if path.is_file() {
        let depth = if name == "mod.rs" { depth - 1 } else { depth };
        return Ok(if name.ends_with(".rs") {
            vec![(path.to_path_buf(), depth)]
        } else {
            Vec::new()
        });
    }
    let module = path.join("mod.rs");
    let module = if module.exists() { module } else { path.with_extension("rs") };
    let tests = test_modules(&read_file(&module)?);
    let mut all = Vec::new();
    for entry in fs::read_dir(path).map_err(|error| format!("{}: {error}", path.display()))? {
        let entry = entry.map_err(|error| format!("{}: {error}", path.display()))?.path();
        let name = entry.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !tests.contains(&name) {
            all.extend(files(&entry, depth + 1)?);
        }
    }
    Ok(all)
}

/// The modules that are declared under `#[cfg(test)]`.
pub fn test_modules(text: &str) -> BTreeSet<String> {
    let items =
        text.split("#[cfg(test)]").skip(1).map(|item| item.lines().nth(1).unwrap_or_default());
    declared(&items.collect::<Vec<_>>().join("\n")).into_iter().collect()
}

fn read_file(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The text without comments, strings that are no paths in attributes, and items under `#[cfg(test)]`.
fn code(text: &str) -> String {
    let mut bare = String::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if next == '"' {
            let end = end_of_string(rest);
            if rest.starts_with("\"crate::") && bare.trim_end().ends_with('=') {
                bare.push_str(rest[..end].trim_matches('"'));
            }
            end
        } else if rest.starts_with("'\"'") || rest.starts_with("'{'") || rest.starts_with("'}'") {
            3
        } else {
            bare.push(next);
            rest = &rest[next.len_utf8()..];
            continue;
        };
        rest = &rest[skipped..];
    }
    while let Some(start) = bare.find("#[cfg(test)]") {
        let end = start + end_of_item(&bare[start..]);
        bare.replace_range(start..end, "");
    }
    bare
}

/// The length of the string literal that the text begins with.
fn end_of_string(text: &str) -> usize {
    let mut escaped = false;
    for (place, next) in text.char_indices().skip(1) {
        match next {
            '"' if !escaped => return place + 1,
            _ => escaped = next == '\\' && !escaped,
        }
    }
    text.len()
}

/// The length of the item that the text begins with: up to a semicolon, or over a block in braces.
fn end_of_item(text: &str) -> usize {
    let mut depth = 0_usize;
    for (place, next) in text.char_indices() {
        match next {
            '{' => depth += 1,
            '}' if depth <= 1 => return place + 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return place + 1,
            _ => (),
        }
    }
    text.len()
}

/// The modules that `lib.rs` declares in files of their own.
fn declared(root: &str) -> Vec<String> {
    let modules = root.lines().filter_map(|line| {
        let line = line.trim().trim_start_matches("pub ").trim_start_matches("pub(crate) ");
        line.strip_prefix("mod ")?.strip_suffix(';').map(str::to_string)
    });
    modules.collect()
}

/// What `lib.rs` re-exports, with the room it comes from.
fn exported(root: &str) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    for line in root.split(';') {
        if let Some((_, path)) = line.split_once("use ")
            && let Some((room, names)) = path.trim().split_once("::")
        {
            for name in names.split(|next: char| !next.is_alphanumeric() && next != '_') {
                exports.insert(name.to_string(), room.to_string());
            }
        }
    }
    exports
}

/// The first names of all paths that follow a prefix, through one level of braces.
fn named(text: &str, prefix: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (place, _) in text.match_indices(prefix) {
        let before = text[..place].chars().next_back();
        if before.is_some_and(|before| before.is_alphanumeric() || before == '_' || before == ':') {
            continue;
        }
        let rest = &text[place + prefix.len()..];
        match rest.strip_prefix('{') {
            None => names.push(identifier(rest)),
            Some(_) => {
                let group = &rest[1..end_of_item(rest) - 1];
                let mut depth = 0;
                let parts = group.split(|next: char| {
                    depth += i32::from(next == '{') - i32::from(next == '}');
                    next == ',' && depth == 0
                });
                names.extend(
                    parts.map(|part| identifier(part.trim())).filter(|name| !name.is_empty()),
                );
            }
        }
    }
    names
}

fn identifier(text: &str) -> String {
    text.chars().take_while(|next| next.is_alphanumeric() || *next == '_').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(pairs: &[(&str, &[&str])]) -> Uses {
        let set = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        pairs.iter().map(|(room, used)| (room.to_string(), set(used))).collect()
    }

    #[test]
    fn no_room_uses_a_room_that_uses_it() {
        let packages = crate::lines::packages(crate::root()).unwrap();
        let many = packages.iter().filter(|package| {
            let uses = read(&package.join("src")).unwrap();
            uses.len() > 5 && uses.values().any(|used| used.len() > 2)
        });
        assert!(many.count() >= 4, "core, lab, server and the Python package have many rooms");
        assert_eq!(refuse_cycles(&packages), Ok(()));
    }

    #[test]
    fn every_member_of_the_workspace_is_read() {
        let manifest = fs::read_to_string(crate::root().join("Cargo.toml")).unwrap();
        let members = manifest.split("\nmembers = [").nth(1).unwrap();
        let members = members.split(']').next().unwrap().split(',').map(str::trim);
        let members: BTreeSet<PathBuf> = members
            .filter(|member| !member.is_empty())
            .map(|member| crate::root().join(member.trim_matches('"')))
            .collect();
        let packages = crate::lines::packages(crate::root()).unwrap();
        assert_eq!(members, packages.into_iter().collect());
    }

    #[test]
    fn a_circle_of_rooms_is_refused_by_name() {
        let folder = crate::tools::empty_folder("rooms").unwrap();
        let source = folder.join("src");
        fs::create_dir(&source).unwrap();
        fs::write(source.join("lib.rs"), "mod left;\nmod right;\n").unwrap();
        fs::write(source.join("left.rs"), "use crate::right::act;\n").unwrap();
        fs::write(source.join("right.rs"), "pub fn act() {}\n").unwrap();
        let packages = [folder];
        assert_eq!(refuse_cycles(&packages), Ok(()));
        fs::write(source.join("right.rs"), "use crate::left;\npub fn act() {}\n").unwrap();
        let refused = refuse_cycles(&packages).unwrap_err();
        assert!(refused.contains("rooms left <-> right use each other"), "{refused}");
    }

    #[test]
    fn cycles_are_found_through_third_rooms() {
        let round = uses(&[("a", &["b"]), ("b", &["c"]), ("c", &["a"]), ("d", &["a"]), ("e", &[])]);
        assert_eq!(cycles(&round), [["a", "b", "c"]]);
        let straight = uses(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])]);
        assert!(cycles(&straight).is_empty());
    }

    #[test]
    fn paths_are_read_from_code_only() {
        let text = "
            // crate::comment
            use crate::{
                Error, first::{Inner, deep::Deeper}, second,
            };
            pub(crate) fn act() -> crate::third::Kind { \"crate::string\" }
            #[cfg(test)]
            mod tests { use crate::tested; fn f() { if true { } } }
            #[serde(default = \"crate::fifth::one\")]
            fn later() { crate::fourth::act() }";
        let names = named(&code(text), "crate::");
        assert_eq!(names, ["Error", "first", "second", "third", "fifth", "fourth"]);
        let exports = exported("pub use error::{Error, Result};\npub use lines::parse_lines;");
        assert_eq!(exports["Error"], "error");
        assert_eq!(exports["parse_lines"], "lines");
    }
}
