//! Reading what a person named, and writing so that a crash leaves the old file or the new one, never half of it.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::domain::fault::{Fault, FaultKind};

/// Most bytes that are read of one input.
const LARGEST: u64 = 256 << 20;

/// Reads a file that a person named on the command line; `-` is standard input.
///
/// # Errors
/// It cannot be read, or it is larger than 256 MB.
pub fn read_input(path: &str) -> Result<Vec<u8>, Fault> {
    let wrong = |e: &io::Error| {
        let kind = match e.kind() {
            io::ErrorKind::NotFound => FaultKind::NotFound,
            io::ErrorKind::PermissionDenied => FaultKind::Forbidden,
            _ => FaultKind::Usage,
        };
        Fault::new(kind, format!("cannot read {path}"))
            .because(e)
            .hint("check the path, and who may read it")
    };
    let mut bytes = vec![];
    let read = if path == "-" {
        io::stdin().lock().take(LARGEST + 1).read_to_end(&mut bytes)
    } else {
        File::open(path).and_then(|f| f.take(LARGEST + 1).read_to_end(&mut bytes))
    };
    read.map_err(|e| wrong(&e))?;
    if bytes.len() as u64 > LARGEST {
        return Err(Fault::new(
            FaultKind::Unsupported,
            format!("{path} is larger than 256 MB"),
        ));
    }
    Ok(bytes)
}

/// Writes a file whole: into a new file beside it, then moved over it. Makes its folder; follows a link to its target;
/// keeps the mode of what was there.
///
/// # Errors
/// The folder cannot be made or written.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    let write = || -> io::Result<()> {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let folder = target.parent().unwrap_or_else(|| Path::new("."));
        fs::create_dir_all(folder)?;
        let mut file = NamedTempFile::new_in(folder)?;
        file.write_all(bytes)?;
        if let Ok(before) = fs::metadata(&target) {
            file.as_file().set_permissions(before.permissions())?;
        }
        file.as_file().sync_all()?;
        file.persist(&target).map_err(|e| e.error)?;
        Ok(())
    };
    write().map_err(|e| {
        Fault::new(
            FaultKind::Config,
            format!("cannot write {}", path.display()),
        )
        .because(e)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "looks at what was written")]
    fn writes_whole_through_links_and_keeps_the_mode() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/down/a.yaml");
        write_atomic(&path, b"1").unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::{PermissionsExt as _, symlink};
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            let link = dir.path().join("link.yaml");
            symlink(&path, &link).unwrap();
            write_atomic(&link, b"2").unwrap();
            assert!(link.is_symlink());
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
            assert_eq!(fs::read(&path).unwrap(), b"2");
        }
        assert_eq!(
            fs::read_dir(path.parent().unwrap()).unwrap().count(),
            1,
            "nothing is left behind"
        );
        assert_eq!(read_input("/none/x").unwrap_err().kind, FaultKind::NotFound);
    }
}
