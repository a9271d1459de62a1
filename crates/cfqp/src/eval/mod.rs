//! How good answers are.

mod classes;
mod compare;
mod evaluate;
mod measures;
mod memory;
mod oracle;
mod runs;
mod ssim;

pub use classes::{adjusted_rand_index, best_matching, class_accuracy};
pub use compare::{Comparison, MEASURES, Measure, Spread, Summary, Watch, summarise};
use evaluate::accuracy;
pub use evaluate::{Evaluation, Reference, evaluate, read_classes, read_truth};
pub use measures::{Coverage, Pehe, coverage, mse, pehe};
pub use oracle::{Oracle, ToldOracle};
pub use runs::{Effects, Run, Scores, Showcase, Trial};
pub use ssim::ssim;
