//! The set-up that all targets of the library share.

#[path = "capped.rs"]
mod capped;

/// Sets the limit on memory. Panics inside of a reader that the library turns into errors are not defects.
pub fn prepare() {
    cfqp::fuzzing::prepare();
    let abort = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !cfqp::data::table::is_catching_panics() {
            abort(panic);
        }
    }));
}

/// Defines the fuzz target that runs a function of [`cfqp::fuzzing`].
#[macro_export]
macro_rules! target {
    ($name:ident) => {
        libfuzzer_sys::fuzz_target!(init: target::prepare(), |bytes: &[u8]| {
            cfqp::fuzzing::$name(bytes);
        });
    };
}
