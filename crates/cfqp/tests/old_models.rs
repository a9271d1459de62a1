//! Model files of released versions are read for ever, and give the answers that they gave then.

use std::path::{Path, PathBuf};

use cfqp::{Model, Resources};

/// Answers may differ by rounding between processors.
const TOLERANCE: f64 = 1e-4;

fn folders() -> Vec<PathBuf> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models");
    let entries = std::fs::read_dir(all).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_dir()).collect()
}

/// The cells of a CSV file without quotes.
fn cells(path: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

fn is_same(a: &str, b: &str) -> bool {
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= TOLERANCE * (1.0 + a.abs()),
        _ => a == b,
    }
}

#[test]
fn models_of_every_version_give_their_answers() {
    let folders = folders();
    assert!(folders.iter().any(|folder| folder.ends_with("0.1.0")));
    let new = tempfile::tempdir().unwrap();
    for (folder, name) in folders.iter().flat_map(|folder| ["table", "series"].map(|name| (folder, name))) {
        let file = |ending: &str| folder.join(format!("{name}.{ending}"));
        let model = Model::load(&file("cfqp"), &Resources::default()).unwrap();
        let out = new.path().join("answers.csv");
        model.ask_units(&file("csv")).under(0.8).rho(1.0).write(&out).unwrap();
        let (old, new) = (cells(&file("answers.csv")), cells(&out));
        assert_eq!(old.len(), new.len(), "{}", file("cfqp").display());
        for (column, title) in old[0].iter().enumerate() {
            // later versions add columns, such as `rho`
            let now = new[0].iter().position(|other| other == title).unwrap();
            for (old, new) in old.iter().zip(&new) {
                let place = file("cfqp");
                assert!(is_same(&old[column], &new[now]), "{}, {title}: {old:?} {new:?}", place.display());
            }
        }
    }
}

#[test]
fn a_model_of_an_old_version_that_is_saved_again_gives_the_same_answers() {
    let new = tempfile::tempdir().unwrap();
    for (folder, name) in folders().iter().flat_map(|folder| ["table", "series"].map(|name| (folder, name))) {
        let model = Model::load(&folder.join(format!("{name}.cfqp")), &Resources::default()).unwrap();
        let [saved, a, b] = ["saved.cfqp", "a.csv", "b.csv"].map(|file| new.path().join(file));
        model.save(&saved).unwrap();
        let again = Model::load(&saved, &Resources::default()).unwrap();
        for (model, out) in [(&model, &a), (&again, &b)] {
            model.ask_units(&folder.join(format!("{name}.csv"))).under(0.8).rho(1.0).write(out).unwrap();
        }
        assert!(std::fs::read(&a).unwrap() == std::fs::read(&b).unwrap(), "{}, {name}", folder.display());
    }
}
