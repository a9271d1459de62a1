//! Files that are written completely or not at all.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::error::{Error, Result};

/// Writes `path` through a temporary file in the same folder, renamed once it is complete: a reader sees either the
/// old file or the new one. On an error, the temporary file is removed and the old file stays.
///
/// # Errors
/// If `write` fails, or the file cannot be created, flushed or renamed.
pub fn write_atomically(path: &Path, write: impl FnOnce(&mut BufWriter<&File>) -> Result<()>) -> Result<()> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let file = new_file_in(folder).map_err(Error::io(path))?;
    let mut writer = BufWriter::new(file.as_file());
    write(&mut writer)?;
    writer.flush().map_err(Error::io(path))?;
    drop(writer);
    file.as_file().sync_all().map_err(Error::io(path))?;
    file.persist(path).map_err(|error| Error::io(path)(error.error))?;
    Ok(())
}

/// A temporary file with the permissions of an ordinary new file (by default only its owner could read it).
fn new_file_in(folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".cfqp-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_is_replaced_completely_or_left_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let put = |text: &'static str| {
            move |file: &mut BufWriter<&File>| {
                file.write_all(text.as_bytes()).map_err(Error::io(Path::new("a")))
            }
        };
        write_atomically(&path, put("one")).unwrap();
        write_atomically(&path, put("two")).unwrap();
        let failed = write_atomically(&path, |file| {
            put("three")(file)?;
            Err(Error::Interrupted)
        });
        assert!(matches!(failed, Err(Error::Interrupted)));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn a_missing_folder_or_an_existing_folder_of_that_name_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("no/a");
        let error = write_atomically(&missing, |_| Ok(())).unwrap_err();
        assert!(error.to_string().contains("no/a"));
        assert!(error.hint().unwrap().contains("no such file or folder"));
        let taken = folder.path().join("b");
        std::fs::create_dir(&taken).unwrap();
        assert!(write_atomically(&taken, |_| Ok(())).is_err());
        assert_eq!(names(folder.path()), ["b"]);
    }
}
