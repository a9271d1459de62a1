//! Fits to tables on disk, which are small here.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rand::RngExt as _;
use rand::seq::SliceRandom as _;

use crate::data::table::{OutputBatch, OutputColumn, TableSpec, TableUnits, write_table};
use crate::data::{OutcomeKind, ShardSizes};
use crate::runtime::testing::StopAfter;
use crate::sim::{Table, TableWorld};
use crate::{Base, Classes, Dataset, Error, Fit, FitConfig, Model, Monitor, Resources, Stage, Units, stream};

const SIZES: ShardSizes = ShardSizes { sample: 400, shard_bytes: 16_000 };

fn config(classes: usize) -> FitConfig {
    FitConfig {
        classes: Classes::Given(classes),
        base: Base::Linear,
        members: Some(2),
        ..FitConfig::default()
    }
}

fn spec(data: &Dataset) -> TableSpec {
    let names = |role: &str, count: usize| (0..count).map(|i| format!("{role}{i}")).collect();
    TableSpec {
        x: names("x", data.x().elements()),
        t: names("t", data.t().elements()),
        y: names("y", if has_levels(data) { 1 } else { data.y().elements() }),
        group: data.groups().map(|_| "subject".to_owned()),
        ..TableSpec::default()
    }
}

/// Whether the outcome is a category, which tables have as one column of names.
fn has_levels(data: &Dataset) -> bool {
    matches!(data.outcome_kinds()[0], OutcomeKind::Level(_))
}

/// Writes the units at `rows` as a CSV file.
fn write(data: &Dataset, rows: &[usize], path: &Path) {
    let parts = [("x", data.x()), ("t", data.t()), ("y", data.y())];
    let names =
        parts.iter().flat_map(|(name, units)| (0..units.elements()).map(move |i| format!("{name}{i}")));
    let mut text = names.chain(["subject".to_owned()]).collect::<Vec<_>>().join(",") + "\n";
    for &row in rows {
        for (role, units) in parts {
            match units.row(row) {
                levels if role == "y" && has_levels(data) => {
                    let level = levels.iter().position(|&value| value == 1.0).unwrap();
                    write!(text, "level {level},,,").unwrap();
                }
                values => values.iter().for_each(|value| write!(text, "{value},").unwrap()),
            }
        }
        writeln!(text, "s{}", data.groups().map_or(0, |groups| groups[row])).unwrap();
    }
    std::fs::write(path, text).unwrap();
}

struct Fixture {
    folder: tempfile::TempDir,
    data: Dataset,
}

impl Fixture {
    fn new(table: &Table, n: usize) -> Self {
        let data = table.simulate(n, 1).unwrap().data;
        Self { folder: tempfile::tempdir().unwrap(), data }
    }

    /// Two classes, whose outcomes rise and fall with the treatment.
    fn lines(n: usize) -> Self {
        let mut rng = stream(1, &["lines"]);
        let mut draw = || (0..n).map(|_| rng.random_range(-1.7_f32..1.7)).collect::<Vec<_>>();
        let (x, t) = (draw(), draw());
        // nearly normal: classes would explain uniform noise
        let parts: Vec<Vec<f32>> = (0..8).map(|_| draw()).collect();
        let scale = (parts.len() as f32).sqrt();
        let noise: Vec<f32> = (0..n).map(|i| parts.iter().map(|part| part[i] / scale).sum()).collect();
        let slope = |i: usize| if i * 7 % 16 < 8 { 1.0 } else { -1.0 };
        let y = (0..n).map(|i| 2.0 + slope(i) * t[i] + 0.3 * x[i] + 0.2 * noise[i]).collect();
        let units = |name: &str, values: Vec<f32>| Units::new(name, vec![1], values).unwrap();
        let data = Dataset::new(units("x", x), units("t", t), units("y", y)).unwrap();
        Self { folder: tempfile::tempdir().unwrap(), data }
    }

    fn of(world: TableWorld, n: usize) -> Self {
        Self::new(&Table { world, ..Table::default() }, n)
    }

    fn file(&self, rows: &[usize]) -> PathBuf {
        let path = self.folder.path().join("table.csv");
        write(&self.data, rows, &path);
        path
    }

    fn whole(&self) -> PathBuf {
        self.file(&(0..self.data.len()).collect::<Vec<_>>())
    }

    fn read(&self, fit: &Fit<'_>, path: &Path) -> TableUnits {
        fit.read_table_by(&path.into(), &spec(&self.data), Some(SIZES)).unwrap()
    }

    /// The model of a fit to the table on disk.
    fn streamed(&self, config: FitConfig, path: &Path, threads: usize) -> Model {
        let fit = Fit::new(config).resources(on_disk(threads));
        let units = self.read(&fit, path);
        assert!(matches!(units, TableUnits::OnDisk(_)));
        fit.run_units(&units).unwrap()
    }

    fn bytes(&self, model: &Model) -> Vec<u8> {
        let path = self.folder.path().join("model.cfqp");
        model.save(&path).unwrap();
        std::fs::read(path).unwrap()
    }
}

/// So little memory that rows are put on disk.
fn on_disk(threads: usize) -> Resources {
    Resources { threads, memory: Some(66 << 20), ..Resources::default() }
}

#[test]
fn a_fit_to_rows_on_disk_agrees_with_one_in_memory() {
    let fixture = Fixture::lines(2500);
    let path = fixture.whole();
    let auto = FitConfig { classes: Classes::Auto, max_classes: 3, ..config(2) };
    let streamed = fixture.streamed(auto.clone(), &path, 2);
    let fit = Fit::new(auto);
    let units = fixture.read(&fit, &path);
    assert!(matches!(units, TableUnits::InMemory(_)), "the default is larger");
    let in_memory = fit.run_units(&units).unwrap();
    // classes that respond alike are slices of one noise
    let kinds = |model: &Model| {
        let alike = &model.fit_report().alike_classes;
        model.classes() - alike.iter().map(|group| group.len() - 1).sum::<usize>()
    };
    assert_eq!((kinds(&streamed), kinds(&in_memory)), (2, 2));
    let answers = |model: &Model| model.ask(&fixture.data).under(0.4).answers().unwrap().point;
    let (a, b) = (answers(&streamed), answers(&in_memory));
    let gaps = a.values().iter().zip(b.values()).map(|(a, b)| f64::from((a - b).abs()));
    let spread = fixture.data.y().values().iter().map(|y| f64::from(y.abs())).sum::<f64>();
    let gap = gaps.sum::<f64>() / spread;
    assert!(gap < 0.05, "answers differ by {gap} of the mean outcome");
    assert_eq!(streamed.data_hash(), in_memory.data_hash());
    assert_eq!(streamed.fit_report().units.train, 2500);
    let notes = &streamed.fit_report().notes;
    assert!(
        notes.iter().any(|note| note.contains("of 2500 units; members trained on streamed halves")),
        "{notes:?}"
    );
    assert!(streamed.layout().is_some());
}

#[test]
fn neither_the_order_of_rows_nor_threads_change_a_bit() {
    let fixture = Fixture::of(TableWorld::BinaryTreatment, 1500);
    let first = fixture.bytes(&fixture.streamed(config(2), &fixture.whole(), 1));
    let mut rows: Vec<usize> = (0..1500).collect();
    rows.shuffle(&mut stream(1, &["rows"]));
    let path = fixture.file(&rows);
    assert!(fixture.bytes(&fixture.streamed(config(2), &path, 2)) == first);
}

/// Writes the units at `rows` as a Parquet file.
fn write_parquet(data: &Dataset, rows: &[usize], path: &Path) {
    let units = data.pick(rows).unwrap();
    let mut batch = OutputBatch::default();
    for (name, units) in [("x", units.x()), ("t", units.t()), ("y", units.y())] {
        for j in 0..units.elements() {
            let values = (0..units.len()).map(|i| units.row(i)[j]).collect();
            batch.push(format!("{name}{j}"), OutputColumn::Numbers(values));
        }
    }
    write_table(path, std::iter::once(Ok(batch))).unwrap();
}

#[test]
fn a_table_cut_into_several_files_gives_the_same_model_file() {
    let fixture = Fixture::of(TableWorld::BinaryTreatment, 1500);
    let rows: Vec<usize> = (0..1500).collect();
    let whole = fixture.folder.path().join("whole.parquet");
    write_parquet(&fixture.data, &rows, &whole);
    let parts = fixture.folder.path().join("parts");
    for (i, rows) in rows.rchunks(400).enumerate() {
        let folder = parts.join(format!("part={}", i % 2));
        std::fs::create_dir_all(&folder).unwrap();
        write_parquet(&fixture.data, rows, &folder.join(format!("{i}.parquet")));
    }
    let [one, several] = [whole, parts].map(|path| fixture.bytes(&fixture.streamed(config(2), &path, 2)));
    assert!(one == several);
}

#[test]
fn all_kinds_of_outcomes_are_fitted() {
    use TableWorld::{Amount, Arms, Category, Count, Lognormal, YesNo};
    for world in [YesNo, Count, Category, Amount, Arms, Lognormal] {
        let fixture = Fixture::of(world, 1500);
        let model = fixture.streamed(config(1), &fixture.whole(), 2);
        assert_eq!(model.outcome_kinds(), world.outcome_kinds(), "{world:?}");
        let (few, t) = (fixture.data.pick(&[0, 1, 2]).unwrap(), fixture.data.t().row(7).to_vec());
        let answers = model.ask(&few).under(&t[..]);
        assert!(answers.answers().unwrap().point.values().iter().all(|y| y.is_finite()), "{world:?}");
    }
}

#[test]
fn subjects_stay_whole_and_rho_is_learned() {
    let table =
        Table { world: TableWorld::Single, repeats: 3, rho: Some(0.8), sigma: Some(1.0), ..Table::default() };
    let fixture = Fixture::new(&table, 700);
    let model = fixture.streamed(config(1), &fixture.whole(), 2);
    let rho = model.learned_rho().unwrap();
    assert!((rho - 0.8).abs() < 0.2, "{rho}");
    let TableUnits::OnDisk(units) =
        fixture.read(&Fit::new(config(1)).resources(on_disk(1)), &fixture.whole())
    else {
        panic!("in memory")
    };
    assert_eq!(units.summary.subjects, Some(700));
}

/// Stops a fit when a stage begins.
struct StopAt(Stage, AtomicBool);

impl Monitor for StopAt {
    fn stage(&self, stage: Stage, _epochs: usize) {
        self.1.store(stage == self.0, Ordering::Relaxed);
    }

    fn stopped(&self) -> bool {
        self.1.load(Ordering::Relaxed)
    }
}

#[test]
fn fits_are_stopped_while_rows_are_read_and_while_members_learn() {
    let fixture = Fixture::of(TableWorld::Single, 1500);
    let path = fixture.whole();
    for stage in [Stage::Reading, Stage::AllRows] {
        let monitor = StopAt(stage, AtomicBool::new(false));
        let fit = Fit::new(config(1)).resources(on_disk(1)).monitor(&monitor);
        let units = fit.read_table_by(&path.clone().into(), &spec(&fixture.data), Some(SIZES));
        let result = units.and_then(|units| fit.run_units(&units));
        assert!(matches!(result, Err(Error::Interrupted)), "{stage}");
    }
}

#[test]
fn an_interrupted_fit_goes_on_and_gives_the_same_model_file() {
    let fixture = Fixture::lines(2500);
    let path = fixture.whole();
    let auto = FitConfig { classes: Classes::Auto, max_classes: 3, ..config(2) };
    let expected = fixture.bytes(&fixture.streamed(auto.clone(), &path, 2));
    let units = fixture.read(&Fit::new(auto.clone()).resources(on_disk(2)), &path);
    let checkpoint = fixture.folder.path().join("fit.part");
    let resources = Resources { checkpoint: Some(checkpoint.clone()), resume: true, ..on_disk(2) };
    let size = || std::fs::metadata(&checkpoint).map_or(0, |file| file.len());
    let run = |epochs: usize| {
        let monitor = StopAfter::epochs(epochs);
        Fit::new(auto.clone()).resources(resources.clone()).monitor(&monitor).run_units(&units)
    };
    // members and shards that are known count as epochs, too
    let mut interrupted = 0;
    let model = (0..).map(|i| 4 + i).find_map(|epochs| {
        let before = size();
        match run(epochs) {
            Ok(model) => Some(model),
            Err(Error::Interrupted) => {
                assert!(size() > before, "every run gets further");
                interrupted += 1;
                None
            }
            Err(error) => panic!("{error}"),
        }
    });
    assert!(interrupted > 5, "{interrupted}");
    assert!(fixture.bytes(&model.unwrap()) == expected);
    assert!(fixture.bytes(&run(usize::MAX).unwrap()) == expected);
}

#[test]
fn a_repeated_id_is_an_error_as_it_is_in_memory() {
    let fixture = Fixture::lines(1500);
    let mut text = std::fs::read_to_string(fixture.whole()).unwrap();
    text = text.replacen("subject", "id", 1);
    let mut row = 0;
    let numbered = text.split_inclusive("s0\n").map(|line| {
        row += 1;
        // the last two units have ids that others have
        line.replace("s0\n", &format!("s{}\n", if row < 1499 { row } else { row - 1400 }))
    });
    let path = fixture.folder.path().join("ids.csv");
    std::fs::write(&path, numbered.collect::<String>()).unwrap();
    let spec = TableSpec { id: Some("id".to_owned()), ..spec(&fixture.data) };
    let error = |resources: Resources| {
        let fit = Fit::new(config(1)).resources(resources);
        fit.read_table_by(&path.clone().into(), &spec, Some(SIZES)).err().unwrap().to_string()
    };
    let ending = ", and 1 more unit repeats an id";
    let in_memory = error(Resources::default());
    assert!(in_memory.ends_with(&format!("units 99 and 1499 both have the id s99{ending}")), "{in_memory}");
    let on_disk = error(on_disk(1));
    assert!(on_disk.ends_with(&format!("units 99 and 1499 both have the same id{ending}")), "{on_disk}");
}

#[test]
fn what_cannot_be_streamed_is_an_error_with_a_way_out() {
    let fixture = Fixture::of(TableWorld::Single, 1500);
    let path = fixture.whole();
    let error = |config: FitConfig, resources: Resources| {
        let units = fixture.read(&Fit::new(self::config(1)).resources(on_disk(1)), &path);
        let error = Fit::new(config).resources(resources).run_units(&units).unwrap_err();
        format!("{error}; {}", error.hint().unwrap_or_default())
    };
    let unet = FitConfig { base: Base::Unet, ..config(1) };
    assert!(error(unet, on_disk(1)).contains("raise `memory_limit`"));
    let log = FitConfig { y_scale: crate::models::YScale::Log, ..config(1) };
    assert!(error(log, on_disk(1)).contains("no logarithm"));
    let little = Fit::new(config(1)).resources(Resources { memory: Some(1 << 20), ..Resources::default() });
    let error = little.read_table_by(&path.clone().into(), &spec(&fixture.data), Some(SIZES)).err().unwrap();
    assert!(error.to_string().contains("a fit to parts of the table needs "), "{error}");
    assert!(error.to_string().ends_with("the limit is 1.0 MB"), "{error}");
}
