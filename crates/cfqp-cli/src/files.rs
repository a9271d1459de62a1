//! Output files: checked before a command starts its work, written atomically.

use std::path::{Path, PathBuf};

use crate::error::{Failure, Result};

/// Checks that `path` can be written: its folder exists, it is none of the `inputs` of the command, and no file is replaced
/// unless `force` is set.
pub fn check_out(path: &Path, force: bool, inputs: &[&Path]) -> Result<()> {
    if path.is_dir() {
        return Err(Failure::new(
            format!("{}: is a folder", path.display()),
            "give --out the path of a file",
        ));
    }
    if let Some(input) = inputs.iter().find(|input| is_same_file(path, input)) {
        let message = format!("{}: is the input file {}", path.display(), input.display());
        return Err(Failure::new(message, "choose another --out: no command replaces what it reads"));
    }
    if path.exists() && !path.is_file() {
        let message = format!("{}: is a device, a pipe or a socket, not a file", path.display());
        return Err(Failure::new(message, "give --out the path of a new or ordinary file"));
    }
    if path.exists() && !force {
        let hint = "use --force to replace it, or choose another --out";
        return Err(Failure::new(format!("{}: the file already exists", path.display()), hint));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder {
        Some(folder) if !folder.is_dir() => {
            let message = format!("{}: the folder {} does not exist", path.display(), folder.display());
            Err(Failure::new(message, format!("create it: mkdir -p {}", folder.display())))
        }
        _ => Ok(()),
    }
}

/// Whether two paths lead to one existing file, by links or otherwise.
fn is_same_file(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let identity = |path: &Path| path.metadata().map(|file| (file.dev(), file.ino())).ok();
        identity(a).is_some() && identity(a) == identity(b)
    }
    #[cfg(not(unix))]
    {
        a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
    }
}

/// Creates the folder `path`, given by --out, and the folders around it, unless they exist.
pub fn create_folder(path: &Path) -> Result<()> {
    if path.is_file() {
        return Err(Failure::new(
            format!("{}: is a file", path.display()),
            "give --out the path of a folder",
        ));
    }
    std::fs::create_dir_all(path).map_err(|error| Failure::io(path, error))
}

/// The checkpoint file of a fit that writes `out`.
pub fn checkpoint(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

/// Removes the checkpoint of a fit whose model is written.
pub fn remove_checkpoint(checkpoint: &Path) -> Result<()> {
    match std::fs::remove_file(checkpoint) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Failure::new(
            format!("{}: {error}", checkpoint.display()),
            "the model is written; delete this file yourself",
        )),
        _ => Ok(()),
    }
}

/// Checks that the extension of `path` is that of a table.
pub fn check_table(path: &Path) -> Result<()> {
    match cfqp::data::table::FileFormat::for_output(path)? {
        cfqp::data::table::FileFormat::Npz => {
            let message = format!("{}: this command writes tables", path.display());
            Err(Failure::new(message, "use the extension .parquet, .csv, .arrow or .jsonl"))
        }
        _ => Ok(()),
    }
}

/// Writes a text file atomically.
pub fn write_text(path: &Path, text: &str) -> Result<()> {
    cfqp::data::write_atomically(path, |file| {
        let io = |source| cfqp::Error::Io { path: path.to_owned(), source };
        std::io::Write::write_all(file, text.as_bytes()).map_err(io)
    })?;
    Ok(())
}
