//! How to cite a report and how to reproduce it.

use cfqp::SplitSizes;
use maud::{Markup, html};

use super::elements::{section, table};
use super::{Page, VERSION};
use crate::format::format_count;

impl Page<'_> {
    pub(super) fn rerun(&self) -> Markup {
        let provenance = &self.spec.provenance;
        let body = html! {
            p { "To cite:" }
            pre { (self.citation()) }
            p { (provenance.promise()) }
            pre { (provenance.report()) }
            p {
                "Fitting the same data with these settings gives the same model, unless separate validation data were given:"
            }
            pre { (provenance.fit()) }
            @for (name, value) in provenance.study_settings() {
                p { "This setting has no flag and belongs in [fit] of a study file: " code { (name) " = " (value) } }
            }
            (table(&["setting", ""], &self.settings()))
        };
        section("rerun", "Cite and rerun", &body)
    }

    fn citation(&self) -> String {
        let model = &self.report.model;
        format!(
            "cfqp {VERSION} (counterfactual queries under hidden response classes; method: De Brouwer, Deep Counterfactual \
             Estimation with Categorical Background Variables, NeurIPS 2022). Model {}, CRC-32 {:08x}, fitted by version \
             {} with seed {} to {} units. Data {}, {} units.",
            self.spec.model,
            self.spec.checksum,
            model.version,
            model.config.seed,
            format_count(model.fit.units.total()),
            self.spec.data,
            format_count(self.units),
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
