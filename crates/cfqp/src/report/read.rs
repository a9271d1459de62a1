//! The units of a report, read from a file that may be larger than memory.

use crate::ask::{EvenSample, StreamBatch, UnitStream, WantedIds};
use crate::data::table::{DroppedUnits, UnitBatch};
use crate::runtime::Monitor;
use crate::{Error, Result};

/// The maximum size of the sample of units; of larger files, every second, fourth, ... unit is used.
const MAX_SAMPLE: usize = 10_000;

/// The units of a file that a report is based on: an even sample, and those to be shown one by one.
#[derive(Clone, Debug)]
pub struct ReportUnits {
    /// An even sample of the units.
    pub sample: UnitBatch,
    /// The units to be shown, in the order in which they were named; none if none were named.
    pub chosen: Option<StreamBatch>,
    /// The number of units that can be used.
    pub units: usize,
    /// The number of rows read.
    pub rows: usize,
    /// Units that cannot be used, by reason.
    pub dropped: Vec<DroppedUnits>,
}

impl ReportUnits {
    /// Reads all units of `stream`, such as [`Model::read_observed_units`](crate::Model::read_observed_units), and keeps
    /// an even sample and those with the ids `chosen`, all of which must exist. `None` if there are no units.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be read or has no unit with one of the ids, [`Error::Interrupted`] if `monitor`
    /// stops the work.
    pub fn read(mut stream: UnitStream, chosen: &[String], monitor: &dyn Monitor) -> Result<Option<Self>> {
        let mut wanted = WantedIds::new(chosen);
        let (mut sample, mut found) = (EvenSample::new(MAX_SAMPLE), Vec::new());
        for batch in stream.by_ref() {
            if monitor.stopped() {
                return Err(Error::Interrupted);
            }
            let batch = batch?;
            if let Some(wanted) = &mut wanted {
                found.extend(wanted.pick(&batch)?);
            }
            monitor.units(batch.units.data.len());
            sample.add(&batch.units)?;
        }
        if let Some(error) = wanted.and_then(|wanted| wanted.missing(stream.path())) {
            return Err(error);
        }
        let (summary, units) = (stream.summary(), sample.units());
        let chosen = StreamBatch::concat(found)?.map(|found| in_order(found, chosen));
        let all = |sample| Self { sample, chosen, units, rows: summary.rows, dropped: summary.dropped() };
        Ok(sample.finish()?.map(all))
    }
}

/// Asks about the units with these ids, in that order.
fn in_order(found: StreamBatch, ids: &[String]) -> StreamBatch {
    let known = &found.units.ids;
    let position = |id: &String| (0..known.len()).find(|&i| known.text(i) == id.trim());
    let asked = ids.iter().filter_map(position).collect();
    StreamBatch { asked: Some(asked), ..found }
}
