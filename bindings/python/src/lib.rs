//! The native part of the Python package `cfqp`: it translates between Python and the library, and nothing else.
//!
//! Structured values cross the border as JSON, tables and answers as Arrow streams. `python/cfqp/_cfqp.pyi` documents
//! every function.

mod answers;
mod arrow;
mod compare;
mod error;
mod fit;
mod json;
mod model;
mod simulate;
mod source;
mod work;

use pyo3::prelude::*;

#[pymodule]
mod _cfqp {
    #[pymodule_export]
    use super::answers::Answers;
    #[pymodule_export]
    use super::arrow::ArrowValues;
    #[pymodule_export]
    use super::compare::{compare, default_methods, summarise_runs};
    #[pymodule_export]
    use super::fit::{check, fit, score_classes};
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::simulate::simulate;
    #[pymodule_export]
    use super::source::Source;

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let default_hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            // reading a damaged file panics inside a dependency; the library turns that into an error
            if !cfqp::data::table::is_catching_panics() {
                default_hook(panic);
            }
        }));
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
