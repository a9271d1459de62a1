//! Scores of answers where the truth is known, and comparisons of methods.

mod compare;
mod evaluate;
mod measures;
mod memory;
mod oracle;
mod pairs;
mod runs;
mod ssim;

pub use crate::math::{Coverage, adjusted_rand_index, best_matching, class_accuracy};
pub use compare::{CompareMonitor, Comparison, Measure, MeasureSummary, RunStatistics, Summary, summarise};
use evaluate::accuracy;
pub use evaluate::{Evaluation, Reference, evaluate, read_classes, read_truth};
pub use measures::{Pehe, coverage, log_loss, mse, pehe};
pub use memory::peak_rss_mb;
pub use oracle::{Oracle, OracleForUnits};
pub use pairs::{PairedUnits, Pairs};
pub use runs::{ComparisonData, ExampleUnits, MethodRun, Scores, TrueEffects};
pub use ssim::ssim;
