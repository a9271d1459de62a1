//! From a model and a stream of units to a page.

use cfqp::ask::UnitStream;
use cfqp::data::table::DroppedUnits;
use cfqp::report::{Report, ReportUnits};
use cfqp::{Error, Model, Monitor, Result};
use serde::Serialize;

use crate::page::Page;
use crate::spec::PageSpec;

/// A report as a page. Its JSON has the numbers without the page.
///
/// ```
/// use cfqp::report::ReportSpec;
/// use cfqp::sim::Oscillator;
/// use cfqp::{Base, Classes, Fit, FitConfig};
/// use cfqp_html::{HtmlReport, PageSpec, Provenance};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let file = folder.path().join("units.npz");
/// let data = Oscillator::default().simulate(200, 1)?.data;
/// data.write_npz(&file, &[])?;
/// let config = FitConfig { classes: Classes::Given(2), base: Base::Linear, ..FitConfig::default() };
/// let model = Fit::new(config).run(&data)?;
///
/// let spec = PageSpec {
///     question: ReportSpec::default(),
///     units: &["7".to_owned()],
///     model: "model",
///     data: "units.npz",
///     checksum: 0,
///     provenance: Provenance::Python { report: "model.report(units)".into(), fit: "cfqp.fit(units)".into() },
/// };
/// let page = HtmlReport::new(&model, model.read_observed_units(&file)?, &spec, &())?;
/// assert_eq!((page.units_in_file, page.report.units.len()), (200, 1));
/// assert!(page.html.contains("<pre>model.report(units)</pre>") && !page.html.contains("cfqp report"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct HtmlReport {
    /// The text of the page.
    #[serde(skip)]
    pub html: String,
    /// The number of rows read.
    pub rows: usize,
    /// The number of units that can be used; the report may be based on a sample of them.
    pub units_in_file: usize,
    /// Units that cannot be used, by reason.
    pub dropped: Vec<DroppedUnits>,
    /// The numbers on the page.
    #[serde(flatten)]
    pub report: Report,
}

impl HtmlReport {
    /// Makes a report on the units of `stream`, such as [`Model::read_observed_units`], or on an even sample if there are
    /// many. `monitor` counts the units and may stop the work.
    ///
    /// # Errors
    /// As [`ReportUnits::read`] and [`Report::from_units`], and [`Error::File`] if there are no units.
    pub fn new(
        model: &Model,
        stream: UnitStream,
        spec: &PageSpec<'_>,
        monitor: &dyn Monitor,
    ) -> Result<Self> {
        let Some(units) = ReportUnits::read(stream, spec.units, monitor)? else {
            let problem = "the model cannot be asked about any of these units";
            return Err(Error::file(spec.data.as_ref(), problem, spec.provenance.hint_on_dropped_units()));
        };
        let report = Report::from_units(model, &units, &spec.question, monitor)?;
        let ReportUnits { units: units_in_file, rows, dropped, .. } = units;
        let html = Page { report: &report, spec, units: units_in_file, dropped: &dropped }.html();
        Ok(Self { html, rows, units_in_file, dropped, report })
    }
}

/// The CRC-32 of the bytes of a file.
pub fn checksum(bytes: &[u8]) -> u32 {
    let mut sum = flate2::Crc::new();
    sum.update(bytes);
    sum.sum()
}
