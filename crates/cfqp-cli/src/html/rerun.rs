//! How to cite a report and how to make it again.

use cfqp::{Block, Classes, Form, Layout, TableSpec};

use super::Page;
use super::text::{escape, paragraph, section, table};
use crate::columns::flags;
use crate::table::{count, shell};

impl Page<'_> {
    pub(super) fn rerun(&self) -> String {
        let model = &self.report.model;
        let path = self.model.display();
        let cite = format!(
            "cfqp {} (counterfactual queries under hidden response classes; method: De Brouwer, Deep Counterfactual Estimation \
             with Categorical Background Variables, NeurIPS 2022). Model {path}, CRC-32 {:08x}, fitted by version {} with seed {} on {} units. \
             Data {}, {} units.",
            env!("CARGO_PKG_VERSION"),
            self.checksum,
            model.version,
            model.config.seed,
            count(model.fit.units.iter().sum()),
            self.file.display(),
            count(self.units),
        );
        let body = [
            paragraph("To cite:"),
            format!("<pre>{}</pre>", escape(&cite)),
            paragraph("The same command on the same files makes this page again, to the last byte:"),
            format!("<pre>{}</pre>", escape(self.command)),
            paragraph(
                "The model was fitted with these settings; equal data, settings and seed give an equal model:",
            ),
            format!("<pre>{}</pre>", escape(&self.fit_command())),
            table(&["setting", ""], &self.settings()),
        ];
        section("rerun", "How to cite it and how to make it again", &body.concat())
    }

    fn fit_command(&self) -> String {
        let config = &self.report.model.config;
        let columns =
            self.report.model.layout.as_ref().map_or(String::new(), |layout| flags(&spec(layout)) + " ");
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
            word(&config.base),
            word(&config.recipe),
            config.seed,
            shell(self.model)
        )
    }

    /// Every setting of the fit that is one value, and what came of it.
    fn settings(&self) -> Vec<Vec<String>> {
        let model = &self.report.model;
        let [train, select, calibrate] = model.fit.units.map(count);
        let mut rows: Vec<(String, String)> = vec![
            ("base model chosen".into(), model.base.clone()),
            ("classes chosen".into(), model.classes.to_string()),
            ("members of the ensemble".into(), model.members.to_string()),
            ("units that trained, selected, calibrated".into(), format!("{train}, {select}, {calibrate}")),
        ];
        if let Ok(serde_json::Value::Object(settings)) = serde_json::to_value(&model.config) {
            let plain = settings.into_iter().filter(|(_, value)| !value.is_object() && !value.is_null());
            rows.extend(plain.map(|(name, value)| (name, setting(&value))));
        }
        rows.into_iter().map(|(name, value)| vec![name, value]).collect()
    }
}

/// A setting as people read it.
fn setting(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Array(list) if list.is_empty() => "by the base model".to_owned(),
        value => value.to_string().replace('"', ""),
    }
}

/// A setting as the command line has it.
fn word(setting: &impl serde::Serialize) -> String {
    serde_json::to_value(setting)
        .ok()
        .and_then(|value| value.as_str().map(|text| text.replace('_', "-")))
        .unwrap_or_default()
}

/// The columns of a layout as a user describes them.
fn spec(layout: &Layout) -> TableSpec {
    let mut spec = TableSpec {
        id: layout.id.clone(),
        t: layout.t.clone(),
        missing: layout.missing.clone(),
        delimiter: layout.delimiter,
        ..TableSpec::default()
    };
    match &layout.form {
        Form::Wide { x, y } => {
            (spec.x, spec.y) = (x.columns(), y.columns());
            if let Block::Lists { shape, .. } = x {
                spec.x_shape.clone_from(shape);
            }
            if let Block::Lists { shape, .. } = y {
                spec.y_shape.clone_from(shape);
            }
        }
        Form::Long(long) => {
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
