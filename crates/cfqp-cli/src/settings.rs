//! The names that users give the library's settings: flags, or entries of a study file.

/// Settings that have a flag.
const FLAGS: &[(&str, &str)] = &[
    // a fit
    ("base", "--base"),
    ("classes", "--classes"),
    ("device", "--device"),
    ("epochs", "--epochs"),
    ("learning_rate", "--learning-rate"),
    ("max_classes", "--max-classes"),
    ("members", "--members"),
    ("model", "--base"),
    ("recipe", "--recipe"),
    ("resume", "--resume"),
    ("seed", "--seed"),
    ("sharing", "--sharing"),
    ("starts", "--init"),
    ("threads", "--threads"),
    ("valid", "--valid"),
    // a question
    ("level", "--level"),
    ("rho", "--rho"),
    ("treatment", "--treatment"),
    // a comparison
    ("method", "--methods"),
    ("methods", "--methods"),
    ("seeds", "--seeds"),
    ("window", "--window"),
    // a simulator
    ("class_correlation", "--class-correlation"),
    ("n", "--n"),
    ("sigma", "--sigma"),
    ("single_class", "--single-class"),
    // a table
    ("after", "--after"),
    ("before", "--before"),
    ("categorical", "--categorical"),
    ("delimiter", "--delimiter"),
    ("id", "--id"),
    ("missing", "--missing"),
    ("series", "--series"),
    ("step", "--step"),
    ("t", "--t"),
    ("time", "--time"),
    ("treated_at", "--treated-at"),
    ("x", "--x"),
    ("x_shape", "--x-shape"),
    ("y", "--y"),
    ("y_shape", "--y-shape"),
];

/// Settings that only a study file can change.
const STUDY_ENTRIES: &[(&str, &str)] = &[
    ("batch", "batch in [fit]"),
    ("mlp", "mlp in [fit]"),
    ("transformer", "transformer in [fit]"),
    ("unet", "unet in [fit]"),
];

/// The name of a library setting as users of the program know it.
pub(crate) fn setting_name(field: &str) -> &str {
    let mut names = FLAGS.iter().chain(STUDY_ENTRIES);
    names.find(|(name, _)| *name == field).map_or(field, |(_, shown)| shown)
}

/// A hint of the library with flags instead of the names of settings, which it quotes as `name`. Suggested columns are
/// quoted in the same way and left as they are.
pub(crate) fn name_flags(hint: &str) -> String {
    if hint.starts_with("did you mean") {
        return hint.to_owned();
    }
    let mut text = hint.to_owned();
    for (field, flag) in FLAGS {
        text = text.replace(&format!("`{field}`"), flag);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    use clap::CommandFactory as _;

    fn flags_of(command: &clap::Command, flags: &mut HashSet<String>) {
        flags
            .extend(command.get_arguments().filter_map(|arg| arg.get_long()).map(|name| format!("--{name}")));
        command.get_subcommands().for_each(|sub| flags_of(sub, flags));
    }

    #[test]
    fn every_flag_of_the_table_exists() {
        let mut known = HashSet::new();
        flags_of(&crate::args::Cli::command(), &mut known);
        for (field, flag) in FLAGS {
            assert!(known.contains(*flag), "{field}: {flag} does not exist");
        }
    }

    #[test]
    fn every_setting_of_a_fit_a_question_and_a_table_has_a_name() {
        let fields =
            |value: serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let fit = serde_json::to_value(cfqp::FitConfig::default()).unwrap();
        let ask = serde_json::to_value(cfqp::AskOptions::default()).unwrap();
        for field in [fields(fit), fields(ask)].concat() {
            let named = FLAGS.iter().chain(STUDY_ENTRIES).any(|(name, _)| *name == field);
            assert!(named, "{field} has neither a flag nor an entry in a study file");
        }
    }

    #[test]
    fn hints_name_flags() {
        assert_eq!(name_flags("give `time` and `treated_at`"), "give --time and --treated-at");
        assert_eq!(name_flags("did you mean `time`?"), "did you mean `time`?");
        assert_eq!(name_flags("add `age` to the table"), "add `age` to the table");
    }
}
