//! Inputs that are read from their start to their end: a log in a file or on standard input, plain or gzip.

use std::fs::File;
use std::io::{Cursor, Read, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

/// How an input begins when it is compressed in a way that is not read here, and the program that reads it.
const FOREIGN: &[(&[u8], &str)] = &[
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"),
    (&[0xfd, b'7', b'z', b'X', b'Z'], "xz"),
    (b"BZh", "bzip2"),
];
const GZIP: &[u8] = &[0x1f, 0x8b];

/// Why an input cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    /// The system refuses.
    #[error("could not open it")]
    Io(#[from] std::io::Error),
    /// It is compressed in another way.
    #[error("it is compressed with {0}")]
    Compressed(&'static str),
}

/// An open input.
pub(crate) struct Input(Box<dyn Read>);

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Input")
    }
}

impl Input {
    /// Opens a file.
    pub(crate) fn file(path: &Path) -> Result<Self, OpenError> {
        let file = File::open(path)?;
        if file.metadata()?.is_dir() {
            return Err(std::io::Error::from(std::io::ErrorKind::IsADirectory).into());
        }
        Self::detect(file)
    }

    /// Takes standard input.
    pub(crate) fn stdin() -> Result<Self, OpenError> {
        Self::detect(std::io::stdin().lock())
    }

    /// Looks at the first bytes.
    fn detect(mut source: impl Read + 'static) -> Result<Self, OpenError> {
        const LONGEST: usize = 6;
        let mut start = [0; LONGEST];
        let mut filled = 0;
        while let Some(space) = start.get_mut(filled..).filter(|s| !s.is_empty()) {
            match source.read(space) {
                // Whoever follows a pipe must not wait for the sixth byte of a first line.
                Ok(n) => {
                    filled += n;
                    if n == 0 || filled >= GZIP.len() && !may_be_compressed(&start, filled) {
                        break;
                    }
                }
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e.into()),
            }
        }
        let head = start.get(..filled).unwrap_or_default().to_vec();
        if let Some((_, program)) = FOREIGN.iter().find(|(magic, _)| head.starts_with(magic)) {
            return Err(OpenError::Compressed(program));
        }
        let is_gzip = head.starts_with(GZIP);
        let whole = Cursor::new(head).chain(source);
        Ok(Self(if is_gzip {
            Box::new(MultiGzDecoder::new(std::io::BufReader::new(whole)))
        } else {
            Box::new(whole)
        }))
    }

    /// Reads some bytes; 0 at the end.
    pub(crate) fn read(&mut self, space: &mut [u8]) -> std::io::Result<usize> {
        loop {
            match self.0.read(space) {
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }
}

fn may_be_compressed(start: &[u8], filled: usize) -> bool {
    let head = start.get(..filled).unwrap_or_default();
    FOREIGN.iter().any(|(magic, _)| {
        let n = magic.len().min(filled);
        magic.get(..n) == head.get(..n)
    })
}

/// A file that grows: what is appended is read when it is there, and a new file in its place is read from its start.
#[derive(Debug)]
pub(crate) struct Tail {
    path: PathBuf,
    file: File,
    inode: u64,
    read: u64,
}

impl Tail {
    /// Opens it.
    pub(crate) fn open(path: &Path) -> std::io::Result<Self> {
        let file = File::open(path)?;
        let meta = file.metadata()?;
        if meta.is_dir() {
            return Err(std::io::ErrorKind::IsADirectory.into());
        }
        Ok(Self {
            path: path.to_owned(),
            inode: meta.ino(),
            file,
            read: 0,
        })
    }

    /// Reads what is there; 0 where nothing is for now.
    pub(crate) fn read(&mut self, space: &mut [u8]) -> std::io::Result<usize> {
        let n = self.file.read(space)?;
        self.read += u64::try_from(n).unwrap_or(0);
        if n > 0 {
            return Ok(n);
        }
        // Truncated, or rotated away: a file that is missing for a moment is waited for.
        match std::fs::metadata(&self.path) {
            Ok(meta) if meta.ino() != self.inode => {
                self.file = File::open(&self.path)?;
                self.inode = meta.ino();
                self.read = 0;
            }
            Ok(meta) if meta.len() < self.read => {
                self.file.seek(SeekFrom::Start(0))?;
                self.read = 0;
            }
            _ => {}
        }
        Ok(0)
    }
}

/// Waits a moment for a file to grow.
pub(crate) fn wait_for_growth() {
    const MOMENT_MS: u64 = 200;
    std::thread::sleep(std::time::Duration::from_millis(MOMENT_MS));
}
