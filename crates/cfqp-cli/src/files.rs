//! Files that a command will write: checked before it works.

use std::path::{Path, PathBuf};

use crate::error::{Failure, Result};

/// `path` may be written: its folder is there, and it is no file that would be lost.
pub fn check_out(path: &Path, force: bool) -> Result<()> {
    if path.is_dir() {
        return Err(Failure::new(format!("{}: it is a folder", path.display()), "give --out a file"));
    }
    if path.exists() && !force {
        let hint = "give --force to replace it, or another --out";
        return Err(Failure::new(format!("{}: the file exists", path.display()), hint));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder {
        Some(folder) if !folder.is_dir() => {
            let message = format!("{}: there is no folder {}", path.display(), folder.display());
            Err(Failure::new(message, format!("make it first: mkdir -p {}", folder.display())))
        }
        _ => Ok(()),
    }
}

/// Where a fit to `out` keeps what it has finished.
pub fn checkpoint(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

/// The model is safe: what led to it can go.
pub fn remove_checkpoint(part: &Path) -> Result<()> {
    match std::fs::remove_file(part) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Failure::new(
            format!("{}: {error}", part.display()),
            "the model is written; remove the file by hand",
        )),
        _ => Ok(()),
    }
}

/// `path` ends as a table does that can be written row by row.
pub fn check_table(path: &Path) -> Result<()> {
    match cfqp::Format::of_output(path)? {
        cfqp::Format::Npz => {
            let message = format!("{}: these answers are written as a table", path.display());
            Err(Failure::new(message, "end its name in .parquet, .csv, .arrow or .jsonl"))
        }
        _ => Ok(()),
    }
}

/// Write a text, whole or not at all.
pub fn write_text(path: &Path, text: &str) -> Result<()> {
    write_bytes(path, text.as_bytes())
}

/// Write bytes, whole or not at all.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    cfqp::write_atomically(path, |file| {
        let io = |source| cfqp::Error::Io { path: path.to_owned(), source };
        std::io::Write::write_all(file, bytes).map_err(io)
    })?;
    Ok(())
}
