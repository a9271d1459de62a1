//! Folders that are written completely or not at all.

use std::path::Path;

use super::atomic::PREFIX;
use crate::error::{Error, Result};

/// Writes the files of a new folder into a temporary folder beside it, which is renamed once they are complete. On an
/// error, the temporary folder is removed.
///
/// # Errors
/// If `write` fails, if the folder cannot be created or renamed, or if there is something at `path` other than an empty
/// folder.
pub(crate) fn write_folder_atomically(path: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    check_free(path)?;
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // by default only the owner could read it
        builder.permissions(std::fs::Permissions::from_mode(0o777));
    }
    let folder = builder.tempdir_in(parent).map_err(Error::io(path))?;
    write(folder.path())?;
    if path.exists() {
        // it is empty: otherwise this fails
        std::fs::remove_dir(path).map_err(Error::io(path))?;
    }
    std::fs::rename(folder.path(), path).map_err(Error::io(path))?;
    // nothing is left to remove
    let _ = folder.keep();
    Ok(())
}

/// Checks that there is nothing at `path`, or an empty folder.
fn check_free(path: &Path) -> Result<()> {
    let problem = match std::fs::symlink_metadata(path) {
        Err(_) => return Ok(()),
        Ok(found) if !found.is_dir() => "is not a folder",
        Ok(_) => match std::fs::read_dir(path).map_err(Error::io(path))?.next() {
            None => return Ok(()),
            Some(_) => "is a folder with files in it",
        },
    };
    Err(Error::file(path, problem, "give the path of a new or empty folder"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_written_completely_or_not_at_all() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("out");
        let names = || {
            let entries = std::fs::read_dir(base.path()).unwrap();
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
        };
        let put = |folder: &Path| std::fs::write(folder.join("a"), "1").map_err(Error::io(folder));
        let failed = write_folder_atomically(&path, |folder| {
            put(folder)?;
            Err(Error::Interrupted)
        });
        assert!(matches!(failed, Err(Error::Interrupted)) && names().is_empty());
        std::fs::create_dir(&path).unwrap();
        write_folder_atomically(&path, put).unwrap();
        assert_eq!(names(), ["out"]);
        assert_eq!(std::fs::read_to_string(path.join("a")).unwrap(), "1");
    }

    #[test]
    fn other_things_are_not_replaced() {
        let base = tempfile::tempdir().unwrap();
        let (file, folder) = (base.path().join("file"), base.path().join("folder"));
        std::fs::write(&file, "mine").unwrap();
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("a"), "mine").unwrap();
        for path in [&file, &folder] {
            let error = write_folder_atomically(path, |_| panic!("nothing is written")).unwrap_err();
            assert_eq!(error.hint(), Some("give the path of a new or empty folder"), "{error}");
        }
        let missing = base.path().join("no/folder");
        assert!(write_folder_atomically(&missing, |_| Ok(())).unwrap_err().to_string().contains("no/folder"));
    }
}
