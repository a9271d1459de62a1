//! The names that users give the library's settings: flags, or entries of a study file.

use std::path::Path;

use cfqp::data::table::FileFormat;

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
    ("y_scale", "--y-scale"),
    ("memory_limit", "--max-memory"),
    // a question
    ("grid", "--grid"),
    ("hold", "--hold"),
    ("level", "--level"),
    ("over", "--over"),
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
    ("repeats", "--repeats"),
    ("sigma", "--sigma"),
    ("single_class", "--single-class"),
];

/// Settings of a table, which are flags too.
const TABLE_FLAGS: &[(&str, &str)] = &[
    ("after", "--after"),
    ("before", "--before"),
    ("categorical", "--categorical"),
    ("date_format", "--date-format"),
    ("date_parts", "--date-parts"),
    ("decimal", "--decimal"),
    ("delimiter", "--delimiter"),
    ("except", "--except"),
    ("group", "--group"),
    ("id", "--id"),
    ("missing", "--missing"),
    ("series", "--series"),
    ("sheet", "--sheet"),
    ("step", "--step"),
    ("t", "--t"),
    ("t_kind", "--t-kind"),
    ("y_kind", "--y-kind"),
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

/// Whether a setting of a fit can be changed only in a study file.
pub(crate) fn is_study_entry(field: &str) -> bool {
    STUDY_ENTRIES.iter().any(|(name, _)| *name == field)
}

/// The name of a library setting as users of the program know it.
pub(crate) fn setting_name(field: &str) -> &str {
    let mut names = FLAGS.iter().chain(TABLE_FLAGS).chain(STUDY_ENTRIES);
    names.find(|(name, _)| *name == field).map_or(field, |(_, shown)| shown)
}

/// A hint of the library with flags instead of the names of settings. The library puts those in backticks, and nothing
/// else that could be the name of a setting: names of columns are in other quotes.
pub(crate) fn name_flags(hint: &str) -> String {
    let flag =
        |word: &str| FLAGS.iter().chain(TABLE_FLAGS).find(|(name, _)| *name == word).map(|(_, flag)| *flag);
    let mut text = String::new();
    let mut rest = hint;
    while let Some((before, quoted)) = rest.split_once('`') {
        text += before;
        let quoted_word = quoted.split_once('`').and_then(|(word, after)| Some((flag(word)?, after)));
        rest = match quoted_word {
            Some((flag, after)) => {
                text += flag;
                after
            }
            None => {
                text.push('`');
                quoted
            }
        };
    }
    text + rest
}

/// The problem of a table with a flag instead of the setting that it begins with, as in `x: there is no column ...`.
/// In arrays, x, t and y are names of arrays.
pub(crate) fn name_flag_of_problem(path: &Path, problem: &str) -> String {
    let is_table = FileFormat::from_path(path).is_some_and(|format| format != FileFormat::Npz);
    let with_flag = TABLE_FLAGS.iter().filter(|_| is_table).find_map(|(name, flag)| {
        let rest = problem.strip_prefix(name)?;
        (rest.starts_with(": ") || rest.starts_with(" `")).then(|| format!("{flag}{rest}"))
    });
    with_flag.unwrap_or_else(|| problem.to_owned())
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
        for (field, flag) in FLAGS.iter().chain(TABLE_FLAGS) {
            assert!(known.contains(*flag), "{field}: {flag} does not exist");
        }
    }

    #[test]
    fn every_setting_of_a_fit_a_question_and_a_table_has_a_name() {
        let fields =
            |value: serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let is_named = |names: &[(&str, &str)], field: &String| names.iter().any(|(name, _)| name == field);
        let fit = serde_json::to_value(cfqp::FitConfig::default()).unwrap();
        let ask = serde_json::to_value(cfqp::AskOptions::default()).unwrap();
        for field in [fields(fit), fields(ask)].concat() {
            let named = is_named(FLAGS, &field) || is_named(STUDY_ENTRIES, &field);
            assert!(named, "{field} has neither a flag nor an entry in a study file");
        }
        for field in fields(serde_json::to_value(cfqp::TableSpec::default()).unwrap()) {
            assert!(is_named(TABLE_FLAGS, &field), "{field} has no flag");
        }
    }

    #[test]
    fn hints_name_flags() {
        assert_eq!(name_flags("give `time` and `treated_at`"), "give --time and --treated-at");
        assert_eq!(
            name_flags("did you mean 'time'? The columns are t, x"),
            "did you mean 'time'? The columns are t, x"
        );
        assert_eq!(
            name_flags("mark it in `x_mask`, or `iconv -t x`"),
            "mark it in `x_mask`, or `iconv -t x`"
        );
        assert_eq!(name_flags("one ` of `t`"), "one ` of --t");
    }

    #[test]
    fn problems_of_tables_name_flags() {
        let named = |file: &str, problem: &str| name_flag_of_problem(Path::new(file), problem);
        assert_eq!(named("a.csv", "x: there is no column `a`"), "--x: there is no column `a`");
        assert_eq!(named("a.csv", "x `a*` matches no column"), "--x `a*` matches no column");
        assert_eq!(named("a.parquet", "x_shape: not the shape"), "--x-shape: not the shape");
        for (file, problem) in [
            ("a.npz", "x: the array is a single number"),
            ("a.csv", "line 2, column `x`: `t` is not a number"),
            ("a.csv", "time series"),
            ("m.cfqp", "x: damaged"),
        ] {
            assert_eq!(named(file, problem), problem);
        }
    }
}
