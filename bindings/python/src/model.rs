//! Models and the questions to them.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use cfqp::ask::{AnswerCounts, Contrast, CurveSpec, UnitsQuestion};
use cfqp::data::table::TableSummary;
use cfqp::data::write_atomically;
use cfqp::report::{ModelDescription, ReportSpec};
use cfqp::{AskOptions, Error, Resources, Result, Rho, Units};
use cfqp_html::{HtmlReport, PageSpec, Provenance, checksum};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::{Deserialize, Serialize};

use crate::answers::Answers;
use crate::arrow::import_numbers;
use crate::error::{Reading, exception};
use crate::json;
use crate::source::Source;
use crate::work::{self, Watch};

/// A fitted model.
#[pyclass(frozen, module = "cfqp._cfqp")]
pub(crate) struct Model {
    pub model: cfqp::Model,
    /// What was read for the fit; none if the model was loaded, or fitted to arrays.
    pub read: Option<TableSummary>,
}

/// The options of a question.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct QuestionOptions {
    level: f64,
    rho: Option<Rho>,
    rho_bounds: bool,
    distributions: bool,
    allow_empty: bool,
}

impl Default for QuestionOptions {
    fn default() -> Self {
        let AskOptions { level, .. } = AskOptions::default();
        Self { level, rho: None, rho_bounds: false, distributions: false, allow_empty: false }
    }
}

impl QuestionOptions {
    fn ask(&self) -> AskOptions {
        AskOptions { rho: self.rho.unwrap_or_default(), level: self.level }
    }
}

/// The treatments of a curve: amounts of one treatment, whole treatments as texts, or neither for even steps or all levels.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CurveGrid {
    values: Option<Vec<f64>>,
    texts: Option<Vec<String>>,
    points: Option<usize>,
    over: Option<String>,
    hold: Option<String>,
}

/// What a report shows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PageOptions {
    units: Vec<String>,
    from: Option<String>,
    to: Option<String>,
    level: f64,
    rho: Option<Rho>,
    model_name: String,
    /// The code that makes the report, and the code that fits the model.
    report_code: String,
    fit_code: String,
}

/// A description of the model, with what was read for its fit.
#[derive(Serialize)]
struct Described<'a> {
    #[serde(flatten)]
    description: ModelDescription,
    read: Option<&'a TableSummary>,
}

/// The default number of points of a curve.
const CURVE_POINTS: usize = 21;

/// One treatment for all units, as a text that the library reads: a number, several numbers, or a text.
#[derive(FromPyObject)]
pub(crate) enum Treatment {
    Number(f64),
    Text(String),
    Numbers(Vec<f64>),
}

impl Treatment {
    fn text(self) -> String {
        match self {
            Self::Number(value) => value.to_string(),
            Self::Text(text) => text,
            Self::Numbers(values) => values.iter().map(f64::to_string).collect::<Vec<_>>().join(","),
        }
    }
}

/// The resources of a model that answers on `threads` threads.
pub(crate) fn resources(threads: Option<usize>) -> Resources {
    let default = Resources::default();
    Resources { threads: threads.unwrap_or(default.threads), ..default }
}

#[pymethods]
impl Model {
    #[staticmethod]
    #[pyo3(signature = (path, threads = None))]
    fn load(py: Python<'_>, path: &str, threads: Option<usize>) -> PyResult<Self> {
        let load = |_: &Watch| cfqp::Model::load(Path::new(path), &resources(threads));
        Ok(Self { model: work::run(py, None, Reading::Model, load)?, read: None })
    }

    #[staticmethod]
    #[pyo3(signature = (data, threads = None))]
    fn from_bytes(py: Python<'_>, data: &[u8], threads: Option<usize>) -> PyResult<Self> {
        let load = |_: &Watch| cfqp::Model::from_bytes(data, &resources(threads));
        Ok(Self { model: work::run(py, None, Reading::Model, load)?, read: None })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.model.to_bytes());
        let bytes = bytes.map_err(|error| exception(py, &error, Reading::Model))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn save(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        let saved = py.detach(|| self.model.save(Path::new(path)));
        saved.map_err(|error| exception(py, &error, Reading::Model))
    }

    fn describe(&self) -> PyResult<String> {
        json::to_text(&Described { description: self.model.describe(), read: self.read.as_ref() })
    }

    fn parse_treatment(&self, py: Python<'_>, text: &str) -> PyResult<Vec<f32>> {
        self.model.parse_treatment(text).map_err(|error| exception(py, &error, Reading::Data))
    }

    #[pyo3(signature = (source, treatment, columns = None, per_unit = None, options = "{}", ids = vec![], progress = None))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments")]
    fn counterfactual(
        &self,
        py: Python<'_>,
        source: &Source,
        treatment: Option<Treatment>,
        columns: Option<&str>,
        per_unit: Option<&Bound<'_, PyAny>>,
        options: &str,
        ids: Vec<String>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Answers> {
        let per_unit = per_unit.map(import_numbers).transpose()?;
        let options = json::from_text(py, "options", options)?;
        work::run(py, progress, Reading::Data, |watch| {
            let units = self.model.ask_units(source.units(&self.model)?);
            let question = match (treatment, columns, per_unit) {
                (Some(treatment), ..) => units.under(treatment.text()),
                (None, Some(columns), _) => units.under_columns(columns),
                (None, None, Some(values)) => units.under(self.treatments(&values)?),
                (None, None, None) => return Err(no_treatment()),
            };
            self.answer(question, &options, &ids, watch)
        })
    }

    #[pyo3(signature = (source, ends, columns = None, per_unit = None, options = "{}", ids = vec![], progress = None))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments")]
    fn effect(
        &self,
        py: Python<'_>,
        source: &Source,
        ends: Option<(Treatment, Treatment)>,
        columns: Option<(String, String)>,
        per_unit: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
        options: &str,
        ids: Vec<String>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Answers> {
        let per_unit = match per_unit {
            Some((t0, t1)) => Some((import_numbers(&t0)?, import_numbers(&t1)?)),
            None => None,
        };
        let options = json::from_text(py, "options", options)?;
        work::run(py, progress, Reading::Data, |watch| {
            let units = self.model.ask_units(source.units(&self.model)?);
            let question = match (ends, columns, per_unit) {
                (Some((t0, t1)), ..) => units.effect(t0.text(), t1.text()),
                (None, Some((t0, t1)), _) => units.effect_columns(&t0, &t1),
                (None, None, Some((t0, t1))) => units.effect(self.treatments(&t0)?, self.treatments(&t1)?),
                (None, None, None) => return Err(no_treatment()),
            };
            self.answer(question, &options, &ids, watch)
        })
    }

    #[pyo3(signature = (source, grid, options = "{}", ids = vec![], progress = None))]
    fn curve(
        &self,
        py: Python<'_>,
        source: &Source,
        grid: &str,
        options: &str,
        ids: Vec<String>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Answers> {
        let options = json::from_text(py, "options", options)?;
        let grid: CurveGrid = json::from_text(py, "grid", grid)?;
        work::run(py, progress, Reading::Data, |watch| {
            let grid = self.curve_treatments(source, &grid)?;
            let question = self.model.ask_units(source.units(&self.model)?).curve(&grid);
            self.answer(question, &options, &ids, watch)
        })
    }

    #[pyo3(signature = (source, t0, t1, options = "{}", by = vec![], progress = None))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments")]
    fn averages(
        &self,
        py: Python<'_>,
        source: &Source,
        t0: Treatment,
        t1: Treatment,
        options: &str,
        by: Vec<String>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let options: QuestionOptions = json::from_text(py, "options", options)?;
        let (t0, t1) = (t0.text(), t1.text());
        let summary = work::run(py, progress, Reading::Data, |watch| {
            let model = &self.model;
            let (from, to) = (model.parse_treatment(&t0)?, model.parse_treatment(&t1)?);
            let mut contrast = Contrast::new(model, &from, &to, options.ask());
            if !by.is_empty() {
                contrast = contrast.by(model.subgroups(source.units(model)?, &by)?);
            }
            let mut added = Ok(());
            let question = model.ask_units(source.units(model)?).effect(&from[..], &to[..]);
            let question = question.options(options.ask()).monitor(watch).inspect(|units, answers| {
                if added.is_ok() {
                    added = contrast.add(units, answers);
                }
            });
            question.run()?;
            added?;
            contrast.finish()
        })?;
        json::to_text(&summary)
    }

    #[pyo3(signature = (source, options = "{}", ends = None, progress = None))]
    fn verdicts(
        &self,
        py: Python<'_>,
        source: &Source,
        options: &str,
        ends: Option<(Treatment, Treatment)>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let options: QuestionOptions = json::from_text(py, "options", options)?;
        let ends = ends.map(|(t0, t1)| [t0.text(), t1.text()]);
        let trust = work::run(py, progress, Reading::Data, |_| {
            let parse = |text: &String| self.model.parse_treatment(text);
            let ends = match &ends {
                Some([t0, t1]) => Some([parse(t0)?, parse(t1)?]),
                None => None,
            };
            let units = self.model.read_observed_units(source.units(&self.model)?)?.read_all()?;
            let units = units.ok_or_else(no_units)?.units;
            let ends = ends.as_ref().map(|[t0, t1]| [&t0[..], &t1[..]]);
            self.model.trust(&units.data, ends, options.ask())
        })?;
        json::to_text(&trust)
    }

    fn export_onnx(&self, py: Python<'_>, folder: &str) -> PyResult<Vec<String>> {
        let files = work::run(py, None, Reading::Data, |_| self.model.export_onnx(Path::new(folder)))?;
        Ok(files.iter().map(|path| path.display().to_string()).collect())
    }

    #[pyo3(signature = (source, spec, data_name, out = None, progress = None))]
    fn report(
        &self,
        py: Python<'_>,
        source: &Source,
        spec: &str,
        data_name: &str,
        out: Option<PathBuf>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(String, String)> {
        let options: PageOptions = json::from_text(py, "report", spec)?;
        let page = work::run(py, progress, Reading::Data, |watch| {
            let model = &self.model;
            let parse =
                |text: &Option<String>| text.as_ref().map(|text| model.parse_treatment(text)).transpose();
            let ask = AskOptions { rho: options.rho.unwrap_or_default(), level: options.level };
            let spec = PageSpec {
                question: ReportSpec { from: parse(&options.from)?, to: parse(&options.to)?, ask },
                units: &options.units,
                model: &options.model_name,
                data: data_name,
                checksum: checksum(&model.to_bytes()?),
                provenance: Provenance::Python {
                    report: options.report_code.clone(),
                    fit: options.fit_code.clone(),
                },
            };
            let page =
                HtmlReport::new(model, model.read_observed_units(source.units(model)?)?, &spec, watch)?;
            if let Some(out) = out {
                write_atomically(&out, |file| file.write_all(page.html.as_bytes()).map_err(Error::io(&out)))?;
            }
            Ok(page)
        })?;
        let numbers = json::to_text(&page)?;
        Ok((page.html, numbers))
    }
}

impl Model {
    /// Answers a question, batch by batch.
    fn answer(
        &self,
        question: UnitsQuestion<'_>,
        options: &QuestionOptions,
        ids: &[String],
        watch: &Watch,
    ) -> Result<Answers> {
        let (mut counts, mut batches, mut rows) = (AnswerCounts::default(), Vec::new(), Some(Vec::new()));
        let question = question
            .only(ids)
            .options(options.ask())
            .rho_bounds(options.rho_bounds)
            .distributions(options.distributions)
            .allow_empty(options.allow_empty)
            .monitor(watch)
            .inspect(|units, answers| {
                counts.add_repeated(answers, units.data.len());
                rows = rows.take().zip(units.rows.as_ref()).map(|(mut rows, own)| {
                    rows.extend(own.iter().map(|&row| row as i64));
                    rows
                });
            });
        let summary = question.for_each(|batch| {
            batches.push(batch);
            Ok(())
        })?;
        counts.set_read(&summary);
        let schema = batches.first().ok_or_else(no_units)?.schema();
        Ok(Answers { schema, batches, rows, counts, rho: self.model.used_rho(options.ask().rho) })
    }

    /// Treatments, one after the other.
    fn treatments(&self, values: &[f64]) -> Result<Units> {
        Units::from_f64("t", vec![self.model.shapes().t], values)
    }

    /// The treatments of a curve.
    fn curve_treatments(&self, source: &Source, grid: &CurveGrid) -> Result<Units> {
        let model = &self.model;
        if let Some(texts) = &grid.texts {
            let points = texts.iter().map(|text| model.parse_treatment(text)).collect::<Result<Vec<_>>>()?;
            return Units::new("grid", vec![model.shapes().t], points.concat());
        }
        let over = grid.over.as_deref();
        let amounts = match &grid.values {
            Some(values) => Some(values.clone()),
            None => {
                let units = model.read_units(source.units(model)?, None)?;
                model.curve_amounts(units, over, grid.points.unwrap_or(CURVE_POINTS))?
            }
        };
        model.curve_grid(&CurveSpec { over, amounts: amounts.as_deref(), held: grid.hold.as_deref() })
    }
}

fn no_treatment() -> Error {
    Error::config("t", "no treatment is given", "give the treatment to ask about")
}

fn no_units() -> Error {
    Error::data("table", "there are no units to ask about", "give at least one unit")
}
