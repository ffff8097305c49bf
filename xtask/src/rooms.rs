//! The dependencies between the top-level modules ("rooms") of a crate, read from the source without compiling it.
//!
//! A path that begins with `crate::`, or leads there by `super::`, counts as a use of the room that is its first name; a name that `lib.rs` re-exports
//! counts as a use of the room it comes from, and so does a path in an attribute, `default = "crate::wire::one"`. Code under
//! `#[cfg(test)]`, comments and other strings do not count. Rooms that use each other cannot be read, tested or moved one at a
//! time, so `cargo xtask test` refuses cycles.

#[cfg(test)]
mod architecture;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Every room with the rooms it uses.
pub type Uses = BTreeMap<String, BTreeSet<String>>;

/// Rooms that are divided: each sub-room is a room of its own, `audit::attack`. Algorithms use the lower sub-rooms, and the upper ones use algorithms.
const DIVIDED: [&str; 2] = ["audit", "papers"];

/// The names of a crate: its rooms, and the room of every re-exported name.
#[derive(Debug, Default)]
struct Names {
    rooms: BTreeSet<String>,
    exports: BTreeMap<String, String>,
    divided: BTreeMap<String, Names>,
}

/// Reads the rooms of the crate whose `lib.rs`, or else `main.rs`, is in `source`.
pub fn read(source: &Path) -> Result<Uses, String> {
    let library = source.join("lib.rs");
    let root = if library.exists() { library } else { source.join("main.rs") };
    let mut names = Names::of(&code(&read_file(&root)?));
    for room in DIVIDED {
        let module = source.join(room).join("mod.rs");
        if names.rooms.contains(room) && module.exists() {
            names.divided.insert(room.to_string(), Names::of(&code(&read_file(&module)?)));
        }
    }
    let mut uses = Uses::new();
    for (room, parent) in names.all() {
        let depth = 1 + usize::from(parent.is_some());
        let mut found = BTreeSet::new();
        for file in [source.join(format!("{}.rs", path_of(&room))), source.join(path_of(&room))] {
            for (path, depth) in files(&file, depth)? {
                let text = code(&read_file(&path)?);
                for path in named(&text, "crate::") {
                    found.extend(names.resolve(&path));
                }
                for path in named(&text, "super::") {
                    let up = 1 + path.iter().take_while(|name| *name == "super").count();
                    let rest = &path[up - 1..];
                    match parent {
                        _ if up == depth => found.extend(names.resolve(rest)),
                        Some(parent) if up + 1 == depth => {
                            let sibling = [&[parent.to_string()], rest].concat();
                            found.extend(names.resolve(&sibling));
                        }
                        _ => (),
                    }
                }
            }
        }
        found.remove(&room);
        uses.insert(room, found);
    }
    Ok(uses)
}

/// The path of a room below the sources.
pub fn path_of(room: &str) -> String {
    room.replace("::", "/")
}

impl Names {
    /// The names that a module's own file declares and re-exports.
    fn of(text: &str) -> Self {
        let rooms = declared(text).into_iter().collect();
        Names { rooms, exports: exported(text), divided: BTreeMap::new() }
    }

    /// All rooms, those of a divided one with its name.
    fn all(&self) -> Vec<(String, Option<&str>)> {
        let rooms = self.rooms.iter().flat_map(|room| match self.divided.get(room) {
            None => vec![(room.clone(), None)],
            Some(inner) => {
                let names = inner.rooms.iter();
                names.map(|name| (format!("{room}::{name}"), Some(room.as_str()))).collect()
            }
        });
        rooms.collect()
    }

    /// The rooms that a path from the crate's root uses; all sub-rooms, if it names none of them.
    fn resolve(&self, path: &[String]) -> Vec<String> {
        let Some(first) = path.first() else { return Vec::new() };
        let room = self.exports.get(first).unwrap_or(first);
        let Some(inner) = self.divided.get(room) else {
            return Vec::from_iter(self.rooms.contains(room).then(|| room.clone()));
        };
        let within = |name: &String| format!("{room}::{name}");
        match path.get(1) {
            None => inner.rooms.iter().map(within).collect(),
            Some(name) => {
                let name = inner.exports.get(name).unwrap_or(name);
                Vec::from_iter(inner.rooms.contains(name).then(|| within(name)))
            }
        }
    }
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

/// Names that `lib.rs` re-exports, with the room that each comes from.
fn exported(root: &str) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    for line in root.split(';') {
        if let Some((_, path)) = line.split_once("use ")
            && let path = path.trim().trim_start_matches("crate::").trim_start_matches("self::")
            && let Some((room, names)) = path.split_once("::")
        {
            for name in names.split(|next: char| !next.is_alphanumeric() && next != '_') {
                exports.insert(name.to_string(), room.to_string());
            }
        }
    }
    exports
}

/// The paths that follow a prefix, through braces.
fn named(text: &str, prefix: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    for (place, _) in text.match_indices(prefix) {
        let before = text[..place].chars().next_back();
        if before.is_none_or(|before| !before.is_alphanumeric() && before != '_' && before != ':') {
            paths.extend(leaves(&text[place + prefix.len()..]));
        }
    }
    paths
}

/// The paths of a tree of names, `a::{b, c::d}`.
fn leaves(text: &str) -> Vec<Vec<String>> {
    if text.starts_with('{') {
        let mut depth = 0;
        let parts = text[1..end_of_item(text) - 1].split(|next: char| {
            depth += i32::from(next == '{') - i32::from(next == '}');
            next == ',' && depth == 0
        });
        return parts.map(str::trim).filter(|part| !part.is_empty()).flat_map(leaves).collect();
    }
    let name = identifier(text);
    if name.is_empty() || name == "self" {
        return vec![Vec::new()];
    }
    match text[name.len()..].strip_prefix("::") {
        None => vec![vec![name]],
        Some(rest) => {
            let below = leaves(rest).into_iter();
            below.map(|path| [std::slice::from_ref(&name), &path[..]].concat()).collect()
        }
    }
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
        let paths = named(&code(text), "crate::");
        let paths: Vec<String> = paths.iter().map(|path| path.join("::")).collect();
        let expected = [
            "Error",
            "first::Inner",
            "first::deep::Deeper",
            "second",
            "third::Kind",
            "fifth::one",
            "fourth::act",
        ];
        assert_eq!(paths, expected);
        let exports = exported("pub use error::{Error, Result};\npub use lines::parse_lines;");
        assert_eq!(exports["Error"], "error");
        assert_eq!(exports["parse_lines"], "lines");
        assert_eq!(exported("pub use crate::play::watch::Watch;")["Watch"], "play");
    }

    #[test]
    fn sub_rooms_of_a_divided_room_are_rooms() {
        let folder = std::env::temp_dir().join(format!("reticent-rooms-{}", std::process::id()));
        let files = [
            ("lib.rs", "mod algorithm;\nmod audit;\n"),
            ("algorithm.rs", "use crate::audit::{attack::Attack};"),
            ("audit/mod.rs", "pub mod attack;\nmod findings;\npub use findings::audit;\n"),
            ("audit/attack.rs", ""),
            ("audit/findings.rs", "use super::{attack::Attack, super::algorithm};"),
        ];
        let read_with = |changed: Option<(&str, &str)>| {
            for (name, text) in files.into_iter().chain(changed) {
                let path = folder.join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            read(&folder).unwrap()
        };
        let straight = read_with(None);
        let expected: [(&str, &[&str]); 3] = [
            ("algorithm", &["audit::attack"]),
            ("audit::attack", &[]),
            ("audit::findings", &["algorithm", "audit::attack"]),
        ];
        assert_eq!(straight, uses(&expected));
        // A re-exported name is a use of the sub-room it comes from, and a divided room as a whole is a use of all of them.
        for text in ["use crate::audit::audit;", "use crate::audit;"] {
            assert!(!cycles(&read_with(Some(("algorithm.rs", text)))).is_empty(), "{text}");
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
