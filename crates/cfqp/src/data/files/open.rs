//! Files that are opened to be read.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use crate::error::{Error, Result};
use crate::runtime::check_size;

/// Opens an ordinary file. A pipe would have to wait for a writer, and data are read more than once.
///
/// # Errors
/// If there is no such file, it may not be read, or it is a folder, a pipe, a device or a socket.
pub(crate) fn open_file(path: &Path) -> Result<File> {
    let kind = std::fs::metadata(path).map_err(Error::io(path))?.file_type();
    if kind.is_dir() {
        return Err(Error::io(path)(std::io::ErrorKind::IsADirectory.into()));
    }
    if !kind.is_file() {
        let hint = "write the content to a file first and give its path: it is read more than once";
        return Err(Error::file(path, "is a pipe, a device or a socket, not a file", hint));
    }
    File::open(path).map_err(Error::io(path))
}

/// The content of an ordinary file.
///
/// # Errors
/// As [`open_file`], or if the file is larger than the limit on memory.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    let mut file = open_file(path)?;
    let size = file.metadata().map_err(Error::io(path))?.len();
    check_size(size).map_err(|large| large.of(path, "the file"))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(Error::io(path))?;
    Ok(bytes)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_ordinary_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "text").unwrap();
        assert_eq!(read_bytes(&path).unwrap(), b"text");
        assert!(open_file(folder.path()).unwrap_err().to_string().contains("is a directory"));
        let error = open_file(Path::new("/dev/null")).unwrap_err().to_string();
        assert!(error.contains("is a pipe, a device or a socket"), "{error}");
    }
}
