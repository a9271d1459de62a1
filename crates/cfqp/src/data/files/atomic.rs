//! Files that are written completely or not at all.

use std::fs::{File, FileType};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::unfinished::Unfinished;
use crate::error::{Error, Result};

/// How the names of temporary files begin.
pub(super) const PREFIX: &str = ".cfqp-";

/// Writes `path` through a temporary file in the same folder, renamed once it is complete: a reader sees either the
/// old file or the new one. On an error, the temporary file is removed and the old file stays.
///
/// A file that is replaced keeps its permissions; of a symbolic link, the file that it points to is replaced. Temporary
/// files that killed programs left in the folder are removed.
///
/// # Errors
/// If `write` fails, if the file cannot be created, flushed or renamed, or if `path` is a folder, a device, a pipe or
/// a socket.
pub fn write_atomically(path: &Path, write: impl FnOnce(&mut BufWriter<&File>) -> Result<()>) -> Result<()> {
    let target = link_target(path).map_err(Error::io(path))?;
    let old = match std::fs::metadata(&target) {
        Ok(old) if !old.is_file() => return Err(special_file(path, old.file_type())),
        old => old.ok(),
    };
    let folder = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    remove_stale_files(folder);
    let (file, _unfinished) = Unfinished::create(|| new_file_in(folder)).map_err(Error::io(path))?;
    let mut writer = BufWriter::new(file.as_file());
    write(&mut writer)?;
    writer.flush().map_err(Error::io(path))?;
    drop(writer);
    if let Some(old) = old {
        file.as_file().set_permissions(old.permissions()).map_err(Error::io(path))?;
    }
    file.as_file().sync_all().map_err(Error::io(path))?;
    file.persist(&target).map_err(|error| Error::io(path)(error.error))?;
    Ok(())
}

/// Where the symbolic links at `path`, if any, lead to, whether there is a file or not.
fn link_target(path: &Path) -> std::io::Result<PathBuf> {
    let mut target = path.to_owned();
    // as many as Linux follows
    for _ in 0..40 {
        match std::fs::read_link(&target) {
            Ok(next) => target = target.parent().unwrap_or(Path::new("")).join(next),
            Err(_) => return Ok(target),
        }
    }
    Err(std::io::Error::other("too many symbolic links"))
}

fn special_file(path: &Path, kind: FileType) -> Error {
    let kind = if kind.is_dir() { "a folder" } else { "a device, a pipe or a socket" };
    Error::file(path, format!("is {kind}, not a file"), "give the path of a new or ordinary file")
}

/// A temporary file, locked while it is written.
fn new_file_in(folder: &Path) -> std::io::Result<NamedTempFile> {
    for _ in 0..100 {
        let file = unlocked_file_in(folder)?;
        // some file systems have no locks; then nothing is removed there either
        let _ = file.as_file().lock();
        // another program may have taken the file for a stale one before it was locked
        if file.path().exists() {
            return Ok(file);
        }
    }
    Err(std::io::Error::other("other programs remove the temporary file"))
}

/// A temporary file with the permissions of an ordinary new file: by default only its owner could read it.
fn unlocked_file_in(folder: &Path) -> std::io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

/// Removes temporary files that nobody writes any more. What cannot be removed stays.
fn remove_stale_files(folder: &Path) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(is_temporary) {
        let path = entry.path();
        if let Ok(file) = File::options().write(true).open(&path)
            && file.try_lock().is_ok()
        {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn is_temporary(entry: &std::fs::DirEntry) -> bool {
    let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
    is_file && entry.file_name().to_string_lossy().starts_with(PREFIX)
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
    fn files_that_nobody_writes_any_more_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".cfqp-stale"), "").unwrap();
        std::fs::write(folder.path().join("other"), "").unwrap();
        let path = folder.path().join("a");
        write_atomically(&path, |_| {
            // one file in the middle of being written is not stale for another one
            write_atomically(&folder.path().join("b"), |_| Ok(()))
        })
        .unwrap();
        let mut left = names(folder.path());
        left.sort();
        assert_eq!(left, ["a", "b", "other"]);
    }

    #[test]
    fn programs_that_write_to_one_folder_do_not_disturb_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let write = |text: String| {
            let put = |out: &mut BufWriter<&File>| out.write_all(text.as_bytes()).map_err(Error::io(&path));
            (0..50).try_for_each(|_| write_atomically(&path, put))
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..8).map(|i| scope.spawn(move || write(i.to_string().repeat(9)))).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap().unwrap());
        });
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.len() == 9 && text.bytes().all(|byte| byte == text.as_bytes()[0]), "{text}");
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_and_links_are_kept() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let [file, link, chain] = ["file", "link", "chain"].map(|name| folder.path().join(name));
        symlink("file", &link).unwrap();
        symlink(&link, &chain).unwrap();
        // the link may point to a file that is not there yet
        write_atomically(&link, |_| Ok(())).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        write_atomically(&chain, |out| out.write_all(b"new").map_err(Error::io(&file))).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(link.is_symlink() && chain.is_symlink());
        let circle = folder.path().join("circle");
        symlink("circle", &circle).unwrap();
        assert!(write_atomically(&circle, |_| Ok(())).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_refused() {
        let error = write_atomically(Path::new("/dev/null"), |_| Ok(())).unwrap_err().to_string();
        assert!(error.contains("is a device"), "{error}");
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
