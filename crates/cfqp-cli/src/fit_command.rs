//! The command that fits a model with given settings, for users to copy.

use std::path::Path;

use cfqp::{Classes, FitConfig, TableSpec};

use crate::columns::{flag, table_flags};
use crate::format::shell_quote;

/// The command that fits a model to `data` with every flag that differs from the defaults.
pub(crate) fn fit_command(
    data: &Path,
    spec: &TableSpec,
    config: &FitConfig,
    valid: Option<&Path>,
    out: &Path,
) -> String {
    let mut words = vec![format!("cfqp fit {}", shell_quote(data))];
    words.extend(table_flags(spec));
    words.extend(config_flags(config));
    words.extend(valid.map(|valid| format!("--valid {}", shell_quote(valid))));
    words.push(format!("--out {}", shell_quote(out)));
    words.join(" ")
}

/// The flags of all settings that differ from the defaults. [`study_settings`] returns those that have no flag.
fn config_flags(config: &FitConfig) -> Vec<String> {
    let default = FitConfig::default();
    let classes = match config.classes {
        Classes::Auto => None,
        Classes::Given(classes) => Some(classes.to_string()),
    };
    let starts: Vec<&str> = config.starts.iter().map(|start| start.name()).collect();
    let flags = [
        ("recipe", (config.recipe != default.recipe).then(|| choice_name(&config.recipe))),
        ("classes", classes),
        ("max-classes", (config.max_classes != default.max_classes).then(|| config.max_classes.to_string())),
        ("base", (config.base != default.base).then(|| choice_name(&config.base))),
        ("y-scale", (config.y_scale != default.y_scale).then(|| choice_name(&config.y_scale))),
        ("sharing", (config.sharing != default.sharing).then(|| choice_name(&config.sharing))),
        ("init", (!starts.is_empty()).then(|| starts.join(","))),
        ("members", config.members.map(|members| members.to_string())),
        ("epochs", config.epochs.map(|epochs| epochs.to_string())),
        ("learning-rate", config.learning_rate.map(|rate| rate.to_string())),
        ("seed", (config.seed != default.seed).then(|| config.seed.to_string())),
    ];
    flags.into_iter().filter_map(|(name, value)| value.map(|value| flag(name, &value))).collect()
}

/// The settings without a flag that differ from the defaults, as names and JSON values.
pub(crate) fn study_settings(config: &FitConfig) -> Vec<(String, String)> {
    let fields = |config: &FitConfig| match serde_json::to_value(config) {
        Ok(serde_json::Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let default = fields(&FitConfig::default());
    let differs = |(name, value): &(String, serde_json::Value)| {
        crate::settings::is_study_entry(name) && default.get(name) != Some(value)
    };
    fields(config).into_iter().filter(differs).map(|(name, value)| (name, value.to_string())).collect()
}

/// A value with a serialised name, as a flag takes it.
fn choice_name(choice: &impl serde::Serialize) -> String {
    let name = serde_json::to_value(choice).ok();
    name.and_then(|name| name.as_str().map(|name| name.replace('_', "-"))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use cfqp::data::table::{DateOrder, TreatedAt};
    use cfqp::models::YScale;
    use cfqp::{Base, Recipe, Sharing, Start};
    use clap::Parser as _;

    use super::*;
    use crate::args::Cli;
    use crate::commands::Command;

    /// Splits a command line as a shell does that knows single quotes and backslashes.
    fn split_words(line: &str) -> Vec<String> {
        let (mut words, mut word) = (Vec::new(), String::new());
        let (mut is_quoted, mut is_word) = (false, false);
        let mut letters = line.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '\'' => (is_quoted, is_word) = (!is_quoted, true),
                '\\' if !is_quoted => word.extend(letters.next()),
                ' ' if !is_quoted => {
                    words.extend(std::mem::take(&mut is_word).then(|| std::mem::take(&mut word)));
                }
                _ => {
                    word.push(letter);
                    is_word = true;
                }
            }
        }
        words.extend(is_word.then_some(word));
        words
    }

    /// Parses the printed command and compares what it would do.
    fn assert_reparsed(spec: &TableSpec, config: &FitConfig, valid: Option<&Path>) {
        let line = fit_command(Path::new("my data.csv"), spec, config, valid, Path::new("m.cfqp"));
        let cli = Cli::try_parse_from(split_words(&line)).unwrap_or_else(|error| panic!("{line}: {error}"));
        let Command::Fit(args) = cli.command else { panic!("{line}") };
        let input = args.resolve().unwrap();
        assert_eq!((&input.spec, &input.config), (spec, config), "{line}");
        assert_eq!((input.valid.as_deref(), &*input.data), (valid, Path::new("my data.csv")), "{line}");
        assert_eq!(input.out.as_deref(), Some(Path::new("m.cfqp")), "{line}");
    }

    fn strings(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn defaults_need_no_flags() {
        let (spec, config) = (TableSpec::default(), FitConfig::default());
        let line = fit_command(Path::new("a.npz"), &spec, &config, None, Path::new("m.cfqp"));
        assert_eq!(line, "cfqp fit a.npz --out m.cfqp");
        assert_reparsed(&spec, &config, None);
    }

    #[test]
    fn every_setting_of_a_fit_is_printed() {
        let config = FitConfig {
            recipe: Recipe::Paper,
            classes: Classes::Given(4),
            max_classes: 6,
            base: Base::Unet,
            y_scale: YScale::Linear,
            sharing: Sharing::Conditional,
            starts: vec![Start::KmeansScaled, Start::Gmm],
            members: Some(3),
            epochs: Some(70),
            learning_rate: Some(1.0 / 3.0),
            seed: u64::MAX,
            ..FitConfig::default()
        };
        assert_reparsed(&TableSpec::default(), &config, Some(Path::new("it's valid.csv")));
        let log = FitConfig { y_scale: YScale::Log, ..FitConfig::default() };
        assert_reparsed(&TableSpec::default(), &log, None);
        for start in Start::ALL {
            assert_reparsed(
                &TableSpec::default(),
                &FitConfig { starts: vec![start], ..FitConfig::default() },
                None,
            );
        }
    }

    #[test]
    fn every_setting_of_a_table_is_printed() {
        let wide = TableSpec {
            x: strings(&["-age", "bp_*", "x0..x9", "it's"]),
            t: strings(&["dose mg"]),
            y: strings(&["outcome"]),
            id: Some("-id".to_owned()),
            group: Some("it's a subject".to_owned()),
            categorical: strings(&["ward"]),
            missing: strings(&["-9", "n.d."]),
            except: strings(&["bp_2", "-b"]),
            decimal: Some(','),
            date_format: Some(DateOrder::MonthFirst),
            date_parts: true,
            sheet: Some("It's 2024".to_owned()),
            x_shape: vec![1, 2, 3],
            y_shape: vec![4, 5],
            delimiter: Some(';'),
            ..TableSpec::default()
        };
        assert_reparsed(&wide, &FitConfig::default(), None);
        for delimiter in ['\t', '-', '|', '\''] {
            assert_reparsed(
                &TableSpec { delimiter: Some(delimiter), ..wide.clone() },
                &FitConfig::default(),
                None,
            );
        }
        let long = TableSpec {
            time: Some("minute".to_owned()),
            series: strings(&["pa", "pv"]),
            treated_at: Some(TreatedAt::Number(-20.5)),
            step: Some(0.1),
            before: Some(1e-7),
            after: Some(30.0),
            t: strings(&["dose"]),
            ..TableSpec::default()
        };
        assert_reparsed(&long, &FitConfig::default(), None);
        let column = Some(TreatedAt::Column("start".to_owned()));
        assert_reparsed(&TableSpec { treated_at: column, ..long }, &FitConfig::default(), None);
    }

    #[test]
    fn settings_without_a_flag_are_reported() {
        let mut config = FitConfig { batch: 64, seed: 3, ..FitConfig::default() };
        assert_eq!(study_settings(&config), [("batch".to_owned(), "64".to_owned())]);
        config.batch = FitConfig::default().batch;
        assert!(study_settings(&config).is_empty());
    }
}
