//! Runs every saved input of the fuzz targets: seeds, inputs that reach different code, and inputs that were defects once.
//!
//! A panic, an abort, memory far beyond the limit, or a seed that is not accepted fails.

#[path = "../../../fuzz/fuzz_targets/capped.rs"]
mod capped;

use std::path::Path;

use cfqp::fuzzing::{TARGETS, prepare};

#[test]
fn saved_inputs_give_a_result_or_an_error() {
    prepare();
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, run) in TARGETS {
        let files = std::fs::read_dir(corpora.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        paths.sort();
        let mut seeds = 0;
        for path in paths {
            // shown only if the input fails
            println!("{}", path.display());
            let accepted = run(&std::fs::read(&path).unwrap());
            if path.file_name().unwrap().to_string_lossy().starts_with("seed-") {
                // the arrays of a header have made-up values
                assert!(accepted || name == "model_header", "{}", path.display());
                seeds += 1;
            }
        }
        assert!(seeds > 0, "{name}");
    }
}
