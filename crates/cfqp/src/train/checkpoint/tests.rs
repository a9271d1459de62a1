use super::*;
use crate::data::faulty::check_writer;

fn data(shift: f32) -> Dataset {
    let units = |shift: f32| Units::new("x", vec![1], vec![shift, 1.0, 2.0]).unwrap();
    Dataset::new(units(shift), units(0.0), units(0.0)).unwrap()
}

fn job(value: f32) -> JobResult {
    JobResult {
        nets: vec![vec![NamedArray { name: "w".into(), shape: vec![2], values: vec![value, 2.0] }], vec![]],
        numbers: vec![f64::INFINITY, 0.1],
    }
}

struct Fixture {
    folder: tempfile::TempDir,
    config: FitConfig,
}

impl Fixture {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), config: FitConfig::default() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("m.part")
    }

    fn open(&self, resume: bool, data: &Dataset) -> Result<Checkpoint> {
        let resources = Resources { checkpoint: Some(self.path()), resume, ..Resources::default() };
        Checkpoint::open(&resources, &self.config, data, 0)
    }
}

#[test]
fn finished_jobs_are_found_by_the_same_fit_only() {
    let mut fixture = Fixture::new();
    let checkpoint = fixture.open(false, &data(0.0)).unwrap();
    checkpoint.insert("a", job(1.0)).unwrap();
    checkpoint.insert("b", job(3.0)).unwrap();
    drop(checkpoint);
    let again = fixture.open(true, &data(0.0)).unwrap();
    assert_eq!((again.get("a"), again.get("b"), again.get("c")), (Some(job(1.0)), Some(job(3.0)), None));
    again.insert("c", job(5.0)).unwrap();
    drop(again);
    assert_eq!(fixture.open(true, &data(0.0)).unwrap().get("c"), Some(job(5.0)));
    let error = fixture.open(true, &data(5.0)).unwrap_err();
    assert!(error.to_string().contains("the data differ"), "{error}");
    // the same units, some of them given for validation
    let resources = Resources { checkpoint: Some(fixture.path()), resume: true, ..Resources::default() };
    let error = Checkpoint::open(&resources, &fixture.config, &data(0.0), 1).unwrap_err();
    assert!(error.to_string().contains("the validation data differ"), "{error}");
    fixture.config.seed = 9;
    let error = fixture.open(true, &data(0.0)).unwrap_err();
    assert!(error.to_string().contains("the settings differ"), "{error}");
}

#[test]
fn a_fit_that_starts_over_replaces_the_file() {
    let fixture = Fixture::new();
    fixture.open(false, &data(0.0)).unwrap().insert("a", job(1.0)).unwrap();
    let fresh = fixture.open(false, &data(0.0)).unwrap();
    assert_eq!(fresh.get("a"), None);
    fresh.insert("b", job(2.0)).unwrap();
    drop(fresh);
    let again = fixture.open(true, &data(0.0)).unwrap();
    assert_eq!((again.get("a"), again.get("b")), (None, Some(job(2.0))));
}

#[test]
fn a_checkpoint_in_use_is_refused_and_stays_as_it_is() {
    let fixture = Fixture::new();
    let first = fixture.open(false, &data(0.0)).unwrap();
    first.insert("a", job(1.0)).unwrap();
    let bytes = std::fs::read(fixture.path()).unwrap();
    // a fit that started at the same time, one that resumes and one that starts over
    let fresh = fixture.open(false, &data(0.0)).unwrap();
    let errors = [fresh.insert("b", job(2.0)).unwrap_err(), fixture.open(true, &data(0.0)).unwrap_err()];
    for error in errors {
        assert!(error.to_string().contains("another fit is using this checkpoint"), "{error}");
        assert!(error.hint().is_some());
    }
    assert_eq!(std::fs::read(fixture.path()).unwrap(), bytes);
    drop(first);
    assert_eq!(fixture.open(true, &data(0.0)).unwrap().get("a"), Some(job(1.0)));
}

#[test]
fn faults_are_errors_or_change_nothing() {
    let mut record = Vec::new();
    push_record(&mut record, b"header", b"values");
    check_writer(|file| write_at(file, 5, &record));
}

#[test]
fn a_record_cut_off_anywhere_is_run_again_and_a_damaged_one_is_refused() {
    let fixture = Fixture::new();
    let checkpoint = fixture.open(false, &data(0.0)).unwrap();
    checkpoint.insert("a", job(1.0)).unwrap();
    let first = std::fs::read(fixture.path()).unwrap().len();
    checkpoint.insert("b", job(2.0)).unwrap();
    let bytes = std::fs::read(fixture.path()).unwrap();
    drop(checkpoint);
    for end in 0..MAGIC.len() + 40 {
        std::fs::write(fixture.path(), &bytes[..end]).unwrap();
        let empty = fixture.open(true, &data(0.0)).unwrap();
        assert_eq!(empty.get("a"), None, "cut at {end}");
        empty.insert("c", job(7.0)).unwrap();
        drop(empty);
        assert_eq!(fixture.open(true, &data(0.0)).unwrap().get("c"), Some(job(7.0)), "cut at {end}");
    }
    for end in first..bytes.len() {
        std::fs::write(fixture.path(), &bytes[..end]).unwrap();
        let cut = fixture.open(true, &data(0.0)).unwrap();
        assert_eq!((cut.get("a"), cut.get("b")), (Some(job(1.0)), None), "cut at {end}");
        cut.insert("c", job(7.0)).unwrap();
        drop(cut);
        let whole = fixture.open(true, &data(0.0)).unwrap();
        assert_eq!((whole.get("a"), whole.get("c")), (Some(job(1.0)), Some(job(7.0))), "cut at {end}");
    }
    for at in [0, 20, first - 1, first + 20, bytes.len() - 1] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        std::fs::write(fixture.path(), &damaged).unwrap();
        assert!(fixture.open(true, &data(0.0)).is_err(), "byte {at}");
    }
}
