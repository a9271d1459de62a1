//! The modules of the library depend on each other one way, as ARCHITECTURE.md draws it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The modules in the order in which data flow. A module may use those before it.
const ORDER: [&str; 23] = [
    "error", "rng", "math", "choice", "runtime", "trees", "process", "data", "sim", "nn", "models", "plain",
    "density", "config", "model", "onnx", "train", "search", "fit", "ask", "report", "rivals", "eval",
];

/// Root re-exports that stand for a module.
const ROOT_NAMES: [(&str, &str); 4] =
    [("Error", "error"), ("Result", "error"), ("Rng", "rng"), ("stream", "rng")];

/// The largest number of public names in the root of the crate.
const MAX_ROOT_NAMES: usize = 40;

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The code of a file without its unit tests and comments. Tests may use anything.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    text.lines().filter(is_code).collect::<Vec<_>>().join("\n")
}

/// Whether a file holds tests only.
fn is_test_file(path: &Path) -> bool {
    let stem = path.file_stem().unwrap().to_string_lossy();
    stem == "contract"
        || stem == "testing"
        || path.iter().any(|part| {
            let part = part.to_string_lossy();
            part.trim_end_matches(".rs").ends_with("tests")
        })
}

/// The first word of every path after `prefix`: `data`, `Error`, or each name in braces.
fn paths_after(prefix: &str, code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for rest in code.split(prefix).skip(1) {
        match rest.strip_prefix('{') {
            None => found.extend([first_word(rest)]),
            Some(list) => found.extend(items(list).iter().map(|item| first_word(item))),
        }
    }
    found.remove("");
    found
}

fn first_word(text: &str) -> String {
    text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// The items of a list up to its closing brace, split at commas that are not inside inner braces.
fn items(list: &str) -> Vec<String> {
    let (mut depth, mut items) = (0, vec![String::new()]);
    for c in list.chars() {
        match c {
            '}' if depth == 0 => break,
            ',' if depth == 0 => items.push(String::new()),
            _ => {
                depth += i32::from(c == '{') - i32::from(c == '}');
                items.last_mut().expect("there is one").push(c);
            }
        }
    }
    items
}

fn position(module: &str) -> usize {
    ORDER
        .iter()
        .position(|name| *name == module)
        .unwrap_or_else(|| panic!("module `{module}` is not in the drawing"))
}

#[test]
fn modules_use_only_those_to_their_left() {
    let mut wrong = Vec::new();
    for path in rust_files(&source()) {
        let relative = path.strip_prefix(source()).unwrap().to_owned();
        let first = relative.iter().next().unwrap().to_string_lossy().trim_end_matches(".rs").to_owned();
        // the root re-exports; benchmarks and fuzz targets reach into everything
        if first == "lib" || first == "measure" || first == "fuzzing" || is_test_file(&relative) {
            continue;
        }
        for used in paths_after("crate::", &code(&path)) {
            let module =
                ROOT_NAMES.iter().find(|(name, _)| *name == used).map_or(used.as_str(), |(_, module)| module);
            if !ORDER.contains(&module) {
                wrong.push(format!("{}: `crate::{used}` goes through the root", relative.display()));
            } else if position(module) > position(&first) {
                wrong.push(format!("{}: {first} uses {module}", relative.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "edges against the drawing:\n{}", wrong.join("\n"));
}

/// The files of a folder that re-exported names come from, by the `use` lines of its `mod.rs`.
fn reexports(folder: &Path) -> BTreeMap<String, String> {
    let mut origin = BTreeMap::new();
    let Ok(text) = std::fs::read_to_string(folder.join("mod.rs")) else { return origin };
    for statement in text.split("use ").skip(1) {
        let Some((file, names)) = statement.split(';').next().unwrap_or_default().split_once("::") else {
            continue;
        };
        let names = names.trim_start_matches('{');
        origin.extend(items(names).iter().map(|name| (first_word(name), file.to_owned())));
    }
    origin
}

/// Which file of a folder uses which other by `super::`, directly or through a re-export.
fn sibling_edges(folder: &Path) -> Vec<(String, String)> {
    let files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let stem = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    let siblings: BTreeSet<String> = files.iter().map(|path| stem(path)).collect();
    let origin = reexports(folder);
    let mut edges = Vec::new();
    for path in
        files.iter().filter(|path| path.is_file() && !is_test_file(Path::new(&path.file_name().unwrap())))
    {
        let from = stem(path);
        if from == "mod" {
            continue;
        }
        for used in paths_after("super::", &code(path)) {
            let to = origin.get(&used).cloned().unwrap_or(used);
            if siblings.contains(&to) && to != from {
                edges.push((from.clone(), to));
            }
        }
    }
    edges
}

/// A cycle among the edges, if there is one.
fn cycle(edges: &[(String, String)]) -> Option<Vec<String>> {
    fn visit(node: &str, edges: &[(String, String)], path: &mut Vec<String>) -> Option<Vec<String>> {
        if let Some(start) = path.iter().position(|seen| seen == node) {
            return Some(path[start..].to_vec());
        }
        path.push(node.to_owned());
        let found = edges.iter().filter(|(from, _)| from == node).find_map(|(_, to)| visit(to, edges, path));
        path.pop();
        found
    }
    edges.iter().find_map(|(from, _)| visit(from, edges, &mut Vec::new()))
}

#[test]
fn files_of_a_module_have_no_cycles() {
    let mut folders: BTreeSet<PathBuf> = BTreeSet::new();
    folders.extend(rust_files(&source()).into_iter().map(|path| path.parent().unwrap().to_owned()));
    for folder in folders.iter().filter(|folder| **folder != source()) {
        let found = cycle(&sibling_edges(folder));
        assert_eq!(found, None, "cycle in {}", folder.display());
    }
}

#[test]
fn the_root_has_few_names() {
    let root = std::fs::read_to_string(source().join("lib.rs")).unwrap();
    let mut names = 0;
    for statement in root.split("pub use ").skip(1) {
        let statement = statement.split(';').next().unwrap();
        names += match statement.split_once('{') {
            Some((_, list)) => {
                list.split(',').filter(|name| !name.trim_matches(['}', ' ', '\n']).is_empty()).count()
            }
            None => 1,
        };
    }
    // hidden modules are not for users
    names += root.matches("\npub mod ").count() - root.matches("#[doc(hidden)]\npub mod ").count();
    assert!(names <= MAX_ROOT_NAMES, "{names} public names in the root");
}

#[test]
fn the_drawing_in_the_documentation_is_this_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md");
    let Ok(text) = std::fs::read_to_string(path) else {
        eprintln!("skipped: ARCHITECTURE.md is not part of the package");
        return;
    };
    let drawing = text.lines().filter(|line| line.starts_with("    ") && line.contains("->"));
    let drawn: Vec<String> = drawing
        .flat_map(|line| line.split("->").flat_map(|part| part.split(',')))
        .map(|name| name.trim().to_owned())
        .filter(|name| ORDER.contains(&name.as_str()))
        .collect();
    assert_eq!(drawn, ORDER, "the order in ARCHITECTURE.md");
}

#[test]
fn cycles_and_paths_are_found() {
    let edge = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    assert_eq!(cycle(&[edge("a", "b"), edge("b", "c")]), None);
    assert_eq!(
        cycle(&[edge("a", "b"), edge("b", "c"), edge("c", "b")]),
        Some(vec!["b".to_owned(), "c".to_owned()])
    );
    let paths =
        paths_after("crate::", "use crate::{Error, data::{Units, Dataset}, nn};\nlet x = crate::sim::Noise;");
    assert_eq!(paths.into_iter().collect::<Vec<_>>(), ["Error", "data", "nn", "sim"]);
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("mod.rs", "mod a;\nmod b;\npub use a::A;\npub(crate) use b::{B, C};\n");
    write("a.rs", "use super::{C, other};\npub struct A;\n");
    write("b.rs", "use super::A;\n");
    let edges = sibling_edges(folder.path());
    assert!(cycle(&edges).is_some(), "through re-exported names: {edges:?}");
}
