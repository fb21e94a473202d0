// SPDX-License-Identifier: Apache-2.0
use std::ffi::{c_char, CStr, CString};
use std::path::Path;
use tracesmith_sys as sys;

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument makes no sense.
    InvalidArgument,
    /// A file, name or library is missing.
    NotFound,
    /// The system refused access.
    Permission,
    /// A disk, memory or quota is full.
    NoSpace,
    /// The system failed to read or write.
    Io,
    /// The file is not a trace.
    NotATrace,
    /// Written by a newer major version.
    TooNew,
    /// The trace is damaged.
    Damaged,
    /// Not possible with this build or on this machine.
    Unsupported,
    /// A defect of TraceSmith.
    Internal,
    /// Ended by [`crate::Interrupt`].
    Interrupted,
}

/// An error. Its message says where it happened, what happened, and what to do.
#[derive(Clone, Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// The result of the latest C call of this thread.
pub(crate) fn check(status: sys::tracesmith_status) -> Result<(), Error> {
    let kind = match status {
        sys::TRACESMITH_OK => return Ok(()),
        sys::TRACESMITH_INVALID_ARGUMENT => ErrorKind::InvalidArgument,
        sys::TRACESMITH_NOT_FOUND => ErrorKind::NotFound,
        sys::TRACESMITH_PERMISSION => ErrorKind::Permission,
        sys::TRACESMITH_NO_SPACE => ErrorKind::NoSpace,
        sys::TRACESMITH_IO => ErrorKind::Io,
        sys::TRACESMITH_NOT_A_TRACE => ErrorKind::NotATrace,
        sys::TRACESMITH_TOO_NEW => ErrorKind::TooNew,
        sys::TRACESMITH_DAMAGED => ErrorKind::Damaged,
        sys::TRACESMITH_UNSUPPORTED => ErrorKind::Unsupported,
        sys::TRACESMITH_INTERRUPTED => ErrorKind::Interrupted,
        _ => ErrorKind::Internal,
    };
    // SAFETY: NUL-terminated, and valid until this thread's next call.
    Err(Error::new(kind, unsafe { text_of(sys::tracesmith_last_error()) }))
}

/// # Safety
/// `text` must be NUL-terminated.
pub(crate) unsafe fn text_of(text: *const c_char) -> String {
    // SAFETY: as the caller says.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

pub(crate) fn c_text(text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| {
        Error::new(ErrorKind::InvalidArgument, format!("{text:?}: it contains a NUL byte"))
    })
}

pub(crate) fn c_path(path: &Path) -> Result<CString, Error> {
    use std::os::unix::ffi::OsStrExt;
    CString::new(path.as_os_str().as_bytes()).map_err(|_| {
        Error::new(ErrorKind::InvalidArgument, format!("{path:?}: it contains a NUL byte"))
    })
}

pub(crate) fn c_texts(texts: &[&str]) -> Result<Vec<CString>, Error> {
    texts.iter().map(|text| c_text(text)).collect()
}

/// A zeroed C struct with its size set.
macro_rules! sized {
    ($type:ident) => {{
        // SAFETY: it has only numbers and pointers, which may be 0.
        let mut value: tracesmith_sys::$type = unsafe { std::mem::zeroed() };
        value.struct_size = std::mem::size_of::<tracesmith_sys::$type>() as u32;
        value
    }};
}
pub(crate) use sized;
