//! Input data: arrays, a table, or a study file that names one.

use std::path::{Path, PathBuf};

use cfqp::ask::{StreamBatch, UnitStream};
use cfqp::data::UnitData;
use cfqp::data::table::{FileFormat, Ids, ReadSummary, TableSummary, TableUnits};
use cfqp::{Dataset, Fit, FitConfig, Layout, Model, Study, Table, TableSpec};

use crate::args::OutputArgs;
use crate::columns::{TableArgs, table_flags};
use crate::error::{Failure, Result};
use crate::fit_command::fit_command;
use crate::format::{count_dropped, count_units, format_count, format_number, pluralise, shell_quote};

/// The data of a fit, and its settings.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub data: PathBuf,
    pub valid: Option<PathBuf>,
    pub out: Option<PathBuf>,
    pub spec: TableSpec,
    pub config: FitConfig,
}

impl Input {
    /// All files that a command reads that was given `file`, a study or data.
    pub(crate) fn files<'a>(&'a self, file: &'a Path) -> Vec<&'a Path> {
        let data = std::iter::once(&self.data).chain(&self.valid).map(PathBuf::as_path);
        data.chain([file]).collect()
    }
}

/// Resolves FILE, which is a study or data. Flags override the study.
pub(crate) fn resolve_input(file: &Path, table: &TableArgs) -> Result<Input> {
    if !file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml")) {
        let (spec, config) = (table.override_spec(TableSpec::default()), FitConfig::default());
        return Ok(Input { data: file.to_owned(), valid: None, out: None, spec, config });
    }
    let study = Study::read(file)?;
    let data = study.data.ok_or_else(|| {
        let message = format!("{}: the study names no data", file.display());
        Failure::new(message, "add a line like: data = \"patients.csv\"")
    })?;
    Ok(Input {
        data,
        valid: study.valid,
        out: study.out,
        spec: table.override_spec(study.table),
        config: study.fit,
    })
}

/// Units that were read, with their counts.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub data: Dataset,
    pub ids: Ids,
    pub layout: Option<Layout>,
    pub counts: TableSummary,
}

impl Input {
    /// Reads the data.
    pub(crate) fn load(&self) -> Result<Loaded> {
        if FileFormat::from_path(&self.data) == Some(FileFormat::Npz) {
            if !self.spec.is_empty() {
                let message =
                    format!("{}: flags for columns do not apply to .npz files", self.data.display());
                return Err(Failure::new(message, "remove the flags that describe columns"));
            }
            let data = Dataset::read_npz(&self.data)?;
            let ids = Ids::Rows((0..data.len()).collect());
            return Ok(Loaded { layout: None, ids, counts: TableSummary::from_arrays(&data), data });
        }
        let Table { data, ids, layout, summary } = Table::read(&self.data, &self.spec)?;
        Ok(Loaded { data, ids, layout: Some(layout), counts: summary })
    }

    /// Reads the data for `fit`, which has no validation data yet. Rows of a table that does not fit in memory are put on disk.
    pub(crate) fn load_for(&self, fit: &Fit<'_>) -> Result<FitData> {
        match FileFormat::from_path(&self.data) {
            Some(FileFormat::Npz) => self.load().map(FitData::Arrays),
            // validation data are joined in memory
            _ if self.valid.is_some() => {
                Ok(FitData::Table(TableUnits::InMemory(Table::read(&self.data, &self.spec)?)))
            }
            _ => Ok(FitData::Table(fit.read_table(&self.data, &self.spec)?)),
        }
    }

    /// Reads the validation data, which have the columns of the training data.
    pub(crate) fn load_valid(&self, layout: Option<&Layout>, output: &OutputArgs) -> Result<Option<Dataset>> {
        let Some(path) = &self.valid else { return Ok(None) };
        Ok(Some(match layout {
            Some(layout) if FileFormat::from_path(path) != Some(FileFormat::Npz) => {
                let read = layout.read(path, true)?;
                print_dropped(path, &read.summary, output);
                read.batch.data
            }
            _ => Dataset::read_npz(path)?,
        }))
    }

    /// The command that fits a model to the data; `config` are the settings.
    pub(crate) fn fit_command(&self, config: &FitConfig) -> String {
        let out = self.out.as_deref().unwrap_or(Path::new("model.cfqp"));
        fit_command(&self.data, &self.spec, config, self.valid.as_deref(), out)
    }

    /// FILE and the flags that describe it, as they are typed.
    pub(crate) fn command_line(&self) -> String {
        format!("{} {}", shell_quote(&self.data), table_flags(&self.spec).join(" ")).trim_end().to_owned()
    }
}

impl Loaded {
    /// The units with their columns, to fit a model to.
    pub(crate) fn units(&self) -> UnitData<'_> {
        UnitData { units: &self.data, layout: self.layout.as_ref() }
    }

    /// Checks that the data can be fitted, and prints their counts to stderr.
    pub(crate) fn check(&self, input: &Input, output: &OutputArgs) -> Result<()> {
        check_counts(&self.counts, self.layout.is_some(), input, output)
    }
}

/// The data of a fit.
pub(crate) enum FitData {
    /// Of an array file.
    Arrays(Loaded),
    Table(TableUnits),
}

impl FitData {
    pub(crate) fn counts(&self) -> &TableSummary {
        match self {
            Self::Arrays(loaded) => &loaded.counts,
            Self::Table(table) => table.summary(),
        }
    }

    pub(crate) fn layout(&self) -> Option<&Layout> {
        match self {
            Self::Arrays(_) => None,
            Self::Table(table) => Some(table.layout()),
        }
    }

    /// Checks that the data can be fitted, and prints their counts to stderr.
    pub(crate) fn check(&self, input: &Input, output: &OutputArgs) -> Result<()> {
        check_counts(self.counts(), self.layout().is_some(), input, output)?;
        if let (Self::Table(TableUnits::OnDisk(_)), false) = (self, output.quiet) {
            eprintln!(
                "{}: too large to be fitted in memory (--max-memory): explored on a sample, then fitted in parts",
                input.data.display()
            );
        }
        Ok(())
    }

    /// Fits a model.
    pub(crate) fn fit(&self, fit: &Fit<'_>) -> cfqp::Result<Model> {
        match self {
            Self::Arrays(loaded) => fit.run(loaded.units()),
            Self::Table(table) => fit.run_units(table),
        }
    }
}

/// Checks that data can be fitted, and prints their counts to stderr.
fn check_counts(counts: &TableSummary, is_table: bool, input: &Input, output: &OutputArgs) -> Result<()> {
    if !output.quiet {
        if is_table {
            eprintln!("{}: {}", input.data.display(), summarise_counts(counts));
        }
        counts.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    }
    match counts.problems.first().filter(|_| is_table) {
        None => Ok(()),
        Some(problem) => {
            let hint = format!(
                "fix the table or choose other columns; for details run: cfqp check {}",
                input.command_line()
            );
            Err(Failure::new(format!("{}: {problem}", input.data.display()), hint))
        }
    }
}

/// Reads all units of a stream, that of `file`, and prints to stderr which units are not used.
pub(crate) fn read_units(mut stream: UnitStream, file: &Path, output: &OutputArgs) -> Result<Dataset> {
    let units = read_all(&mut stream, file)?.units;
    print_dropped(file, &stream.summary(), output);
    Ok(units.data)
}

/// Reads the remaining units of a file at once.
pub(crate) fn read_all(stream: &mut UnitStream, file: &Path) -> Result<StreamBatch> {
    let message = || format!("{}: no unit can be used", file.display());
    stream.read_all()?.ok_or_else(|| Failure::new(message(), "run `cfqp check` to see why units are dropped"))
}

/// Prints to stderr which units are not used.
pub(crate) fn print_dropped(file: &Path, summary: &ReadSummary, output: &OutputArgs) {
    for dropped in summary.dropped().iter().filter(|_| !output.quiet) {
        let units = count_dropped(dropped);
        eprintln!("{}: {units} not used: {} (first: {})", file.display(), dropped.reason, dropped.first);
    }
}

/// The counts in one line.
fn summarise_counts(counts: &TableSummary) -> String {
    let treatment = |t: &cfqp::data::table::TreatmentSummary| {
        format!("{} from {} to {}", t.name, format_number(t.min.into()), format_number(t.max.into()))
    };
    let levels = |t: &cfqp::data::table::LevelSummary| format!("{} with {} levels", t.name, t.levels.len());
    let treatments: Vec<String> =
        counts.treatments.iter().map(treatment).chain(counts.treatment_levels.iter().map(levels)).collect();
    format!(
        "{}, {} kept, {} dropped; x {:?}, y {:?}, {}",
        pluralise(counts.rows, "row"),
        count_units(counts),
        format_count(counts.dropped_units()),
        counts.x_shape,
        counts.y_shape,
        treatments.join(", ")
    )
}
