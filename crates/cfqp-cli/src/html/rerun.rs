//! How to cite a report and how to reproduce it.

use cfqp::data::table::{Block, TableForm};
use cfqp::{Classes, Layout, SplitSizes, TableSpec};
use maud::{Markup, html};

use super::elements::{section, table};
use super::{Page, VERSION};
use crate::columns::table_flags;
use crate::format::{format_count, shell_quote};

impl Page<'_> {
    pub(super) fn rerun(&self) -> Markup {
        let body = html! {
            p { "To cite:" }
            pre { (self.citation()) }
            p { "The same command on the same files gives the same page, byte for byte:" }
            pre { (self.command) }
            p { "The model was fitted with these settings; equal data, settings and seed give an equal model:" }
            pre { (self.fit_command()) }
            (table(&["setting", ""], &self.settings()))
        };
        section("rerun", "Cite and rerun", &body)
    }

    fn citation(&self) -> String {
        let model = &self.report.model;
        format!(
            "cfqp {VERSION} (counterfactual queries under hidden response classes; method: De Brouwer, Deep Counterfactual \
             Estimation with Categorical Background Variables, NeurIPS 2022). Model {}, CRC-32 {:08x}, fitted by version \
             {} with seed {} on {} units. Data {}, {} units.",
            self.model.display(),
            self.checksum,
            model.version,
            model.config.seed,
            format_count(model.fit.units.total()),
            self.file.display(),
            format_count(self.units),
        )
    }

    fn fit_command(&self) -> String {
        let config = &self.report.model.config;
        let columns = self
            .report
            .model
            .layout
            .as_ref()
            .map_or(String::new(), |layout| table_flags(&table_spec(layout)) + " ");
        let data = if self.report.model.layout.is_some() { "DATA" } else { "DATA.npz" };
        let classes = match config.classes {
            Classes::Auto => "auto".to_owned(),
            Classes::Given(classes) => classes.to_string(),
        };
        let members = config.members.map_or(String::new(), |members| format!(" --members {members}"));
        let starts: Vec<&str> = config.starts.iter().map(|start| start.name()).collect();
        let init = if starts.is_empty() { String::new() } else { format!(" --init {}", starts.join(",")) };
        format!(
            "cfqp fit {data} {columns}--classes {classes} --base {} --recipe {}{members}{init} --seed {} --out {}",
            flag_value(&config.base),
            flag_value(&config.recipe),
            config.seed,
            shell_quote(self.model)
        )
    }

    /// The results of the fit, and every setting that is a single value.
    fn settings(&self) -> Vec<Vec<String>> {
        let model = &self.report.model;
        let SplitSizes { train, validation, calibration } = model.fit.units;
        let [train, select, calibrate] = [train, validation, calibration].map(format_count);
        let mut rows: Vec<(String, String)> = vec![
            ("chosen base model".into(), model.base.to_string()),
            ("chosen number of classes".into(), model.classes.to_string()),
            ("ensemble members".into(), model.members.to_string()),
            ("units for training, selection, calibration".into(), format!("{train}, {select}, {calibrate}")),
        ];
        if let Ok(serde_json::Value::Object(settings)) = serde_json::to_value(&model.config) {
            let plain = settings.into_iter().filter(|(_, value)| !value.is_object() && !value.is_null());
            rows.extend(plain.map(|(name, value)| (name, format_setting(&value))));
        }
        rows.into_iter().map(|(name, value)| vec![name, value]).collect()
    }
}

/// The text of a setting.
fn format_setting(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Array(list) if list.is_empty() => "default of the base model".to_owned(),
        value => value.to_string().replace('"', ""),
    }
}

/// The value of a setting as a flag takes it.
fn flag_value(setting: &impl serde::Serialize) -> String {
    serde_json::to_value(setting)
        .ok()
        .and_then(|value| value.as_str().map(|text| text.replace('_', "-")))
        .unwrap_or_default()
}

/// The description of a table from which the layout was made.
fn table_spec(layout: &Layout) -> TableSpec {
    let mut spec = TableSpec {
        id: layout.id.clone(),
        t: layout.t.clone(),
        missing: layout.missing.clone(),
        delimiter: layout.delimiter,
        ..TableSpec::default()
    };
    match &layout.form {
        TableForm::Wide { x, y } => {
            (spec.x, spec.y) = (x.columns(), y.columns());
            if let Block::Lists { shape, .. } = x {
                spec.x_shape.clone_from(shape);
            }
            if let Block::Lists { shape, .. } = y {
                spec.y_shape.clone_from(shape);
            }
        }
        TableForm::Long(long) => {
            spec.time = Some(long.time.clone());
            spec.series.clone_from(&long.series);
            spec.x = long.fixed.iter().map(|feature| feature.name.clone()).collect();
            spec.y = if long.outcomes == long.series { Vec::new() } else { long.outcomes.clone() };
            spec.treated_at = Some(long.treated_at.clone());
            spec.step = Some(long.grid.step);
        }
    }
    spec
}
