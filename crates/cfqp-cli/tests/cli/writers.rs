//! All commands that write files, on small data.

use std::collections::BTreeMap;
use std::path::Path;

use crate::succeed;

/// A folder with what the commands of [`WRITERS`] read.
pub(crate) fn inputs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    succeed(path, "simulate table --world single --n 40 --out data.csv -q");
    succeed(path, "fit data.csv --x x* --t t --y y --id id --classes 1 --members 2 --out m.cfqp -q");
    succeed(path, "simulate oscillator --n 40 --out series.npz -q");
    folder
}

/// Commands and the files that each of them writes. They replace what is there.
pub(crate) const WRITERS: [(&str, &[&str]); 15] = [
    ("simulate table --world single --n 300 --force --out new.csv", &["new.csv", "new.truth.npz"]),
    ("simulate oscillator --n 60 --force --out new.npz", &["new.npz"]),
    ("simulate oscillator --n 60 --force --out new.parquet", &["new.parquet", "new.truth.npz"]),
    ("simulate oscillator --n 60 --force --out new.arrow", &["new.arrow", "new.truth.npz"]),
    ("fit data.csv --x x* --t t --y y --classes 1 --members 2 --force --out new.cfqp", &["new.cfqp"]),
    (
        "fit series.npz --base linear --classes 2 --members 2 --init kmeans --force --out new.cfqp",
        &["new.cfqp"],
    ),
    ("query m.cfqp data.csv --treatment 0.5 --force --out new.csv", &["new.csv"]),
    ("query m.cfqp data.csv --treatment 0.5 --force --out new.jsonl", &["new.jsonl"]),
    ("query m.cfqp data.csv --treatment 0.5 --force --out new.npz", &["new.npz"]),
    ("effect m.cfqp data.csv --from 0.2 --to 0.8 --force --out new.parquet", &["new.parquet"]),
    ("curve m.cfqp data.csv --grid 0:1:5 --force --out new.arrow", &["new.arrow"]),
    ("report m.cfqp data.csv --force --out new.html", &["new.html"]),
    ("select series.npz --base linear --init kmeans --classes 1..2 --force --plot new.svg", &["new.svg"]),
    (
        "compare series.npz --eval series.npz --methods sc --out runs",
        &["runs/results.json", "runs/table.md", "runs/table.tex"],
    ),
    ("man --out pages", &["pages/cfqp.1", "pages/cfqp-fit.1", "pages/cfqp-simulate-table.1"]),
];

/// The content of all files in `folder` and its folders, by path. What may differ between two runs is left out.
pub(crate) fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    collect(folder, folder, &mut found);
    found
}

fn collect(root: &Path, folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            collect(root, &path, found);
        } else {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            found.insert(name, without_times(&std::fs::read(&path).unwrap_or_default()));
        }
    }
}

/// The text without the lines that name durations and memory; other files as they are.
fn without_times(bytes: &[u8]) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(bytes) else { return bytes.to_vec() };
    let keep = |line: &&str| !line.contains("seconds\"") && !line.contains("peak_rss");
    text.split_inclusive('\n').filter(keep).collect::<String>().into_bytes()
}

/// The names of temporary files.
pub(crate) fn temporary(folder: &Path) -> Vec<String> {
    let names = contents(folder).into_keys();
    names.filter(|name| name.rsplit('/').next().unwrap().starts_with(".cfqp-")).collect()
}
