//! The modules of the library depend on each other one way, as ARCHITECTURE.md draws it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The modules in the order in which data flow. A module may use those before it.
const ORDER: [&str; 17] = [
    "error", "rng", "math", "runtime", "data", "sim", "nn", "models", "config", "model", "train", "search",
    "fit", "ask", "report", "rivals", "eval",
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

/// What follows every `crate::` in the code: `data`, `Error`, or each name in braces.
fn crate_paths(code: &str) -> BTreeSet<String> {
    let word =
        |text: &str| -> String { text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect() };
    let mut found = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            None => found.extend([word(rest)]),
            Some(list) => {
                let (mut depth, mut item) = (0, String::new());
                for c in list.chars() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => {
                            found.insert(word(item.trim()));
                            item.clear();
                            continue;
                        }
                        _ => {}
                    }
                    item.push(c);
                }
                found.insert(word(item.trim()));
            }
        }
    }
    found.remove("");
    found
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
        // the root re-exports, and benchmarks reach into everything
        if first == "lib" || first == "measure" || is_test_file(&relative) {
            continue;
        }
        for used in crate_paths(&code(&path)) {
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

/// The sibling modules that a file uses by `super::`, or by `self`-less paths in a `mod.rs`.
fn sibling_edges(folder: &Path) -> Vec<(String, String)> {
    let files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let stem = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    let siblings: BTreeSet<String> = files.iter().map(|path| stem(path)).collect();
    let mut edges = Vec::new();
    for path in
        files.iter().filter(|path| path.is_file() && !is_test_file(Path::new(&path.file_name().unwrap())))
    {
        let from = stem(path);
        if from == "mod" {
            continue;
        }
        for rest in code(path).split("super::").skip(1) {
            let to: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
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
    names += root.matches("\npub mod ").count();
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
    let paths = crate_paths("use crate::{Error, data::{Units, Dataset}, nn};\nlet x = crate::sim::Noise;");
    assert_eq!(paths.into_iter().collect::<Vec<_>>(), ["Error", "data", "nn", "sim"]);
}
