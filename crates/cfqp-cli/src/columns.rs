//! The columns of a table as command-line flags.

use std::path::Path;

use clap::Args;

use cfqp::TableSpec;
use cfqp::data::table::{DateOrder, TreatedAt, TreatmentKind, YKind};

use crate::args::{parse_choice, parse_count};
use crate::format::shell_quote;

/// The largest side of a shape.
const MAX_SIDE: usize = 1 << 24;

const HEADING: &str = "Columns of a table (CSV, Parquet, Arrow, .xlsx)";

/// The roles of the columns. COLS are names, ranges x0..x19 or wildcards 'bp_*', comma-separated.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = HEADING)]
pub(crate) struct TableArgs {
    /// Covariates, '*' for all other columns; texts become one 0/1 element per category, dates days. Long table: covariates
    /// that do not change over time
    #[arg(long, value_name = "COLS", value_delimiter = ',')]
    x: Vec<String>,
    /// Columns that --x '*' leaves out
    #[arg(long, value_name = "COLS", value_delimiter = ',')]
    except: Vec<String>,
    /// Treatments: numbers, or texts, whose values become levels
    #[arg(long, value_name = "COLS", value_delimiter = ',')]
    t: Vec<String>,
    /// What treatments are, one for all or one for each: numbers, or categories (names of levels) even if they look like
    /// numbers [default: auto, texts are categories]
    #[arg(long, value_name = "KINDS", value_delimiter = ',', value_parser = parse_choice::<TreatmentKind>(&["auto", "number", "category"]))]
    t_kind: Vec<TreatmentKind>,
    /// Outcomes. Long table: the series that are outcomes [default: all]
    #[arg(long, value_name = "COLS", value_delimiter = ',')]
    y: Vec<String>,
    /// What outcomes are, one for all or one for each; a category has names of levels without an order [default: auto, as
    /// they look like]
    #[arg(long, value_name = "KINDS", value_delimiter = ',', value_parser = parse_choice::<YKind>(&["auto", "number", "yes-no", "count", "ordered", "amount", "category"]))]
    y_kind: Vec<YKind>,
    /// The id of the unit
    #[arg(long, value_name = "COL")]
    id: Option<String>,
    /// The subject of the unit: units of one subject share a class and inform each other
    #[arg(long, value_name = "COL")]
    group: Option<String>,
    /// Long table (one row per sample): the time of the sample, a number or a date; dates are counted in days
    #[arg(long, value_name = "COL")]
    time: Option<String>,
    /// Long table: the series measured over time
    #[arg(long, value_name = "COLS", value_delimiter = ',')]
    series: Vec<String>,
    /// Long table: the time of the treatment, a number, a date or a column; samples up to it are x, later ones y
    #[arg(long, value_name = "TIME|COL", allow_hyphen_values = true)]
    treated_at: Option<String>,
    /// Long table: time step of the grid that samples are placed on [default: the median time between samples]
    #[arg(long, value_name = "TIME")]
    step: Option<f64>,
    /// Long table: how long before the treatment x starts [default: at the first sample]
    #[arg(long, value_name = "TIME")]
    before: Option<f64>,
    /// Long table: how long after the treatment y ends [default: at the last sample]
    #[arg(long, value_name = "TIME")]
    after: Option<f64>,
    /// Numeric covariates to treat as categories
    #[arg(long, value_name = "COLS", value_delimiter = ',')]
    categorical: Vec<String>,
    /// Additional markers of a missing value, besides empty cells, NA, NaN, null and None
    #[arg(long, value_name = "WORDS", value_delimiter = ',', allow_hyphen_values = true)]
    missing: Vec<String>,
    /// The decimal separator of numbers in texts; the other one separates thousands [default: a point; 1,234 is not guessed]
    #[arg(long, value_name = "CHAR", value_parser = parse_choice::<char>(&[".", ","]))]
    decimal: Option<char>,
    /// The order of day and month in dates such as 03/04/2024 [default: as other dates of the column show]
    #[arg(long, value_name = "ORDER", value_parser = parse_choice::<DateOrder>(&["dmy", "mdy"]))]
    date_format: Option<DateOrder>,
    /// Give covariates that are dates their month and weekday, too, as 0/1 elements
    #[arg(long)]
    date_parts: bool,
    /// List columns: the shape of x, for example 1,28,28
    #[arg(long, value_name = "SIDES", value_delimiter = ',', value_parser = parse_count(MAX_SIDE))]
    x_shape: Vec<usize>,
    /// List columns: the shape of y
    #[arg(long, value_name = "SIDES", value_delimiter = ',', value_parser = parse_count(MAX_SIDE))]
    y_shape: Vec<usize>,
    /// CSV: the field delimiter [default: a comma; a tab for .tsv files]
    #[arg(long, value_name = "CHAR")]
    delimiter: Option<char>,
    /// Spreadsheet (.xlsx): the sheet [default: the first]
    #[arg(long, value_name = "NAME")]
    sheet: Option<String>,
}

impl TableArgs {
    /// `spec`, overridden by the flags that are given.
    pub(crate) fn override_spec(&self, mut spec: TableSpec) -> TableSpec {
        let lists = [
            (&mut spec.x, &self.x),
            (&mut spec.except, &self.except),
            (&mut spec.t, &self.t),
            (&mut spec.y, &self.y),
            (&mut spec.series, &self.series),
            (&mut spec.categorical, &self.categorical),
            (&mut spec.missing, &self.missing),
        ];
        for (to, from) in lists.into_iter().filter(|(_, from)| !from.is_empty()) {
            to.clone_from(from);
        }
        for (to, from) in [(&mut spec.x_shape, &self.x_shape), (&mut spec.y_shape, &self.y_shape)] {
            if !from.is_empty() {
                to.clone_from(from);
            }
        }
        if !self.t_kind.is_empty() {
            spec.t_kind.clone_from(&self.t_kind);
        }
        if !self.y_kind.is_empty() {
            spec.y_kind.clone_from(&self.y_kind);
        }
        let parse_time = |text: &String| match text.trim().parse() {
            Ok(number) => TreatedAt::Number(number),
            Err(_) => TreatedAt::Column(text.clone()),
        };
        spec.id = self.id.clone().or(spec.id);
        spec.group = self.group.clone().or(spec.group);
        spec.time = self.time.clone().or(spec.time);
        spec.treated_at = self.treated_at.as_ref().map(parse_time).or(spec.treated_at);
        spec.step = self.step.or(spec.step);
        spec.before = self.before.or(spec.before);
        spec.after = self.after.or(spec.after);
        spec.delimiter = self.delimiter.or(spec.delimiter);
        spec.decimal = self.decimal.or(spec.decimal);
        spec.date_format = self.date_format.or(spec.date_format);
        spec.date_parts |= self.date_parts;
        spec.sheet = self.sheet.clone().or(spec.sheet);
        spec
    }
}

/// The flags that describe a table as `spec` does, for commands that the user can copy.
pub(crate) fn table_flags(spec: &TableSpec) -> Vec<String> {
    let sides = |shape: &[usize]| shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let treated_at = match &spec.treated_at {
        None => String::new(),
        Some(TreatedAt::Number(number)) => number.to_string(),
        Some(TreatedAt::Column(name)) => name.clone(),
    };
    let date_format = match spec.date_format {
        None => "",
        Some(DateOrder::DayFirst) => "dmy",
        Some(DateOrder::MonthFirst) => "mdy",
    };
    let kinds: Vec<&str> = spec.t_kind.iter().map(|kind| kind.name()).collect();
    let y_kinds: Vec<&str> = spec.y_kind.iter().map(|kind| kind.name()).collect();
    let flags = [
        ("id", spec.id.clone().unwrap_or_default()),
        ("group", spec.group.clone().unwrap_or_default()),
        ("time", spec.time.clone().unwrap_or_default()),
        ("series", spec.series.join(",")),
        ("x", spec.x.join(",")),
        ("except", spec.except.join(",")),
        ("t", spec.t.join(",")),
        ("t-kind", kinds.join(",")),
        ("y", spec.y.join(",")),
        ("y-kind", y_kinds.join(",")),
        ("treated-at", treated_at),
        ("step", number(spec.step)),
        ("before", number(spec.before)),
        ("after", number(spec.after)),
        ("categorical", spec.categorical.join(",")),
        ("missing", spec.missing.join(",")),
        ("decimal", spec.decimal.map_or(String::new(), |c| c.to_string())),
        ("date-format", date_format.to_owned()),
        ("x-shape", sides(&spec.x_shape)),
        ("y-shape", sides(&spec.y_shape)),
        ("delimiter", spec.delimiter.map_or(String::new(), |c| c.to_string())),
        ("sheet", spec.sheet.clone().unwrap_or_default()),
    ];
    let flags = flags.into_iter().filter(|(_, value)| !value.is_empty());
    let parts = spec.date_parts.then(|| "--date-parts".to_owned());
    flags.map(|(name, value)| flag(name, &value)).chain(parts).collect()
}

/// A flag with its value, quoted for a shell if necessary.
pub(crate) fn flag(name: &str, value: &str) -> String {
    // a separate value that starts with a hyphen would be taken for a flag
    let separator = if value.starts_with('-') { '=' } else { ' ' };
    format!("--{name}{separator}{}", shell_quote(Path::new(value)))
}
