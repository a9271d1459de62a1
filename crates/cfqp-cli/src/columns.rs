//! What the columns of a table are, on the command line.

use clap::Args;

use cfqp::{TableSpec, TreatedAt};

use crate::args::up_to;

const HEAD: &str = "Columns of a table (CSV, Parquet, Arrow)";

/// Which columns are what. COLS are names, ranges x0..x19 or wildcards 'bp_*', comma-separated.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = HEAD)]
pub struct TableArgs {
    /// Covariates; texts become a 0/1 element per category. In a long table: those that do not change
    #[arg(long, value_name = "COLS", value_delimiter = ',')]
    x: Vec<String>,
    /// Treatments
    #[arg(long, value_name = "COLS", value_delimiter = ',')]
    t: Vec<String>,
    /// Outcomes. In a long table: the series that are outcomes [default: all]
    #[arg(long, value_name = "COLS", value_delimiter = ',')]
    y: Vec<String>,
    /// What a unit is called
    #[arg(long, value_name = "COL")]
    id: Option<String>,
    /// Long table, a row per sample: when the sample was taken
    #[arg(long, value_name = "COL")]
    time: Option<String>,
    /// Long table: what was measured over time
    #[arg(long, value_name = "COLS", value_delimiter = ',')]
    series: Vec<String>,
    /// Long table: when the treatment was given, a number or a column; samples up to it are x, later ones y
    #[arg(long, value_name = "TIME|COL", allow_hyphen_values = true)]
    treated_at: Option<String>,
    /// Long table: distance of the grid that samples are put on [default: the usual distance of samples]
    #[arg(long, value_name = "TIME")]
    step: Option<f64>,
    /// Long table: how long before the treatment x begins [default: with the first sample]
    #[arg(long, value_name = "TIME")]
    before: Option<f64>,
    /// Long table: how long after the treatment y ends [default: with the last sample]
    #[arg(long, value_name = "TIME")]
    after: Option<f64>,
    /// Covariates that are categories though they look like numbers
    #[arg(long, value_name = "COLS", value_delimiter = ',')]
    categorical: Vec<String>,
    /// Further words for a missing value, beside empty cells, NA, NaN, null and None
    #[arg(long, value_name = "WORDS", value_delimiter = ',', allow_hyphen_values = true)]
    missing: Vec<String>,
    /// Columns of lists: the shape of x, such as 1,28,28
    #[arg(long, value_name = "SIDES", value_delimiter = ',', value_parser = up_to(1 << 24))]
    x_shape: Vec<usize>,
    /// Columns of lists: the shape of y
    #[arg(long, value_name = "SIDES", value_delimiter = ',', value_parser = up_to(1 << 24))]
    y_shape: Vec<usize>,
    /// CSV: what stands between cells [default: a comma, or a tab in a .tsv file]
    #[arg(long, value_name = "CHAR")]
    delimiter: Option<char>,
}

impl TableArgs {
    /// `spec` with what the command line says instead.
    pub fn over(&self, mut spec: TableSpec) -> TableSpec {
        let lists = [
            (&mut spec.x, &self.x),
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
        let moment = |text: &String| match text.trim().parse() {
            Ok(number) => TreatedAt::Number(number),
            Err(_) => TreatedAt::Column(text.clone()),
        };
        spec.id = self.id.clone().or(spec.id);
        spec.time = self.time.clone().or(spec.time);
        spec.treated_at = self.treated_at.as_ref().map(moment).or(spec.treated_at);
        spec.step = self.step.or(spec.step);
        spec.before = self.before.or(spec.before);
        spec.after = self.after.or(spec.after);
        spec.delimiter = self.delimiter.or(spec.delimiter);
        spec
    }
}

/// The flags that describe a table as `spec` does, for a command that the user can copy.
pub fn flags(spec: &TableSpec) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut flag = |name: &str, value: String| {
        if !value.is_empty() {
            let plain = value.chars().all(|c| c.is_alphanumeric() || "._,-".contains(c));
            let value = if plain { value } else { format!("'{}'", value.replace('\'', r"'\''")) };
            words.push(format!("--{name} {value}"));
        }
    };
    let sides = |shape: &[usize]| shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    flag("id", spec.id.clone().unwrap_or_default());
    flag("time", spec.time.clone().unwrap_or_default());
    flag("series", spec.series.join(","));
    flag("x", spec.x.join(","));
    flag("t", spec.t.join(","));
    flag("y", spec.y.join(","));
    let moment = match &spec.treated_at {
        None => String::new(),
        Some(TreatedAt::Number(number)) => number.to_string(),
        Some(TreatedAt::Column(name)) => name.clone(),
    };
    flag("treated-at", moment);
    flag("step", number(spec.step));
    flag("before", number(spec.before));
    flag("after", number(spec.after));
    flag("categorical", spec.categorical.join(","));
    flag("missing", spec.missing.join(","));
    flag("x-shape", sides(&spec.x_shape));
    flag("y-shape", sides(&spec.y_shape));
    flag("delimiter", spec.delimiter.map_or(String::new(), |c| c.to_string()));
    words.join(" ")
}
