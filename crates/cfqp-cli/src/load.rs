//! Data of a command: arrays, a table, or a study that names one.

use std::path::{Path, PathBuf};

use cfqp::{Counts, Dataset, FitConfig, Fitted, Format, Layout, Study, Table, TableSpec};

use crate::args::Show;
use crate::columns::{TableArgs, flags};
use crate::error::{Failure, Result};
use crate::table::{count, counted, plain, shell};

/// Where data are and what they are.
#[derive(Clone, Debug)]
pub struct Input {
    pub data: PathBuf,
    pub valid: Option<PathBuf>,
    pub out: Option<PathBuf>,
    pub spec: TableSpec,
    pub config: FitConfig,
}

/// FILE as a study, or as data; what the command line says goes before what the study says.
pub fn input(file: &Path, table: &TableArgs) -> Result<Input> {
    if !file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml")) {
        let (spec, config) = (table.over(TableSpec::default()), FitConfig::default());
        return Ok(Input { data: file.to_owned(), valid: None, out: None, spec, config });
    }
    let study = Study::read(file)?;
    let data = study.data.ok_or_else(|| {
        let message = format!("{}: it names no data", file.display());
        Failure::new(message, "add a line such as: data = \"patients.csv\"")
    })?;
    Ok(Input { data, valid: study.valid, out: study.out, spec: table.over(study.table), config: study.fit })
}

/// Units, read and counted.
#[derive(Debug)]
pub struct Loaded {
    pub data: Dataset,
    pub layout: Option<Layout>,
    pub counts: Counts,
}

impl Input {
    /// Read the data.
    pub fn load(&self) -> Result<Loaded> {
        if Format::of(&self.data) == Some(Format::Npz) {
            if !self.spec.is_empty() {
                let message = format!("{}: an .npz file has no columns", self.data.display());
                return Err(Failure::new(message, "leave out the flags that describe columns"));
            }
            let data = Dataset::read_npz(&self.data)?;
            return Ok(Loaded { layout: None, counts: Counts::of_arrays(&data), data });
        }
        let Table { data, layout, counts, .. } = Table::read(&self.data, &self.spec)?;
        Ok(Loaded { data, layout: Some(layout), counts })
    }

    /// Read the data to choose and calibrate on, in the columns of the others.
    pub fn load_valid(&self, layout: Option<&Layout>, show: &Show) -> Result<Option<Dataset>> {
        let Some(path) = &self.valid else { return Ok(None) };
        Ok(Some(match layout {
            Some(layout) if Format::of(path) != Some(Format::Npz) => read_more(path, layout, true, show)?,
            _ => Dataset::read_npz(path)?,
        }))
    }

    /// FILE and the flags that describe it.
    pub fn words(&self) -> String {
        format!("{} {}", shell(&self.data), flags(&self.spec)).trim_end().to_owned()
    }
}

impl Loaded {
    /// Whether a fit can use the data; tells the counts on the way.
    pub fn check(&self, input: &Input, show: &Show) -> Result<()> {
        if !show.quiet && self.layout.is_some() {
            eprintln!("{}: {}", input.data.display(), brief(&self.counts));
            self.counts.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
        }
        match self.counts.problems.first().filter(|_| self.layout.is_some()) {
            None => Ok(()),
            Some(problem) => {
                let hint = format!(
                    "mend the table, or name other columns; look at it by: cfqp check {}",
                    input.words()
                );
                Err(Failure::new(format!("{}: {problem}", input.data.display()), hint))
            }
        }
    }
}

/// All units of a file that a model can be asked about.
pub fn read_for(file: &Path, fitted: &Fitted, show: &Show) -> Result<Dataset> {
    if Format::of(file) == Some(Format::Npz) {
        return Ok(Dataset::read_npz(file)?);
    }
    read_more(file, known_layout(file, fitted)?, fitted.shapes().missing, show)
}

/// The columns that a model was fitted on, where it is asked about a table.
pub fn known_layout<'a>(file: &Path, fitted: &'a Fitted) -> Result<&'a Layout> {
    fitted.layout().ok_or_else(|| {
        let message = format!("{}: the model was fitted on arrays and knows no columns", file.display());
        Failure::new(message, "give an .npz file, or fit the model on a table")
    })
}

/// Units of a table whose columns are known; tells which are not used.
fn read_more(file: &Path, layout: &Layout, missing_x: bool, show: &Show) -> Result<Dataset> {
    let (part, tally) = layout.read(file, missing_x)?;
    for dropped in tally.dropped().iter().filter(|_| !show.quiet) {
        let units = counted(dropped.units, "unit");
        eprintln!("{}: {units} not used: {} (first: {})", file.display(), dropped.why, dropped.first);
    }
    Ok(part.data)
}

/// The counts in a line.
pub fn brief(counts: &Counts) -> String {
    let treatment =
        |t: &cfqp::Treatment| format!("{} from {} to {}", t.name, plain(t.low.into()), plain(t.high.into()));
    let treatments: Vec<String> = counts.treatments.iter().map(treatment).collect();
    format!(
        "{}, {} kept, {} dropped; x {:?}, y {:?}, {}",
        counted(counts.rows, "row"),
        counted(counts.units, "unit"),
        count(counts.lost()),
        counts.x_shape,
        counts.y_shape,
        treatments.join(", ")
    )
}
