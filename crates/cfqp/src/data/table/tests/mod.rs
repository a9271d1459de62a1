//! All file formats give the same units; every mistake is an error with its place and a hint.

mod formats;
mod groups;
mod inputs;
mod long;
mod practice;
mod spreadsheets;
mod treatments;
mod unobserved;
mod wide;

use std::path::PathBuf;

use tempfile::TempDir;

use super::*;

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

fn strings(names: &str) -> Vec<String> {
    names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn wide_spec(x: &str, t: &str, y: &str) -> TableSpec {
    TableSpec { x: strings(x), t: strings(t), y: strings(y), ..TableSpec::default() }
}

fn long_spec() -> TableSpec {
    TableSpec {
        id: Some("id".into()),
        time: Some("time".into()),
        series: strings("a,b"),
        t: strings("dose"),
        treated_at: Some(TreatedAt::Number(2.0)),
        ..TableSpec::default()
    }
}

/// The message of reading such a CSV file, without the path, and the hint.
fn read_error(text: impl AsRef<[u8]>, spec: &TableSpec) -> (String, String) {
    let folder = Folder::new();
    let error = Table::read(folder.write("a.csv", text), spec).unwrap_err();
    let message = error.to_string();
    let place = message.split_once("a.csv: ").map_or(message.clone(), |(_, rest)| rest.to_owned());
    (place, error.hint().unwrap().to_owned())
}

/// Checks the message and the hint of reading such a CSV file.
fn assert_error(text: &str, spec: &TableSpec, problem: &str, hint: &str) {
    let (message, suggestion) = read_error(text, spec);
    assert!(message.contains(problem), "{message} / {problem}");
    assert!(suggestion.contains(hint), "{suggestion} / {hint}");
}

const SMALL: &str = "id,age,sex,dose,y\na,30,f,0.5,1.5\nb,40,m,0.7,2.5\nc,,f,0.9,\n";
