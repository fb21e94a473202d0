// SPDX-License-Identifier: Apache-2.0
use crate::error::{c_path, c_text, check, sized};
use crate::{Error, ErrorKind};
use std::ffi::{c_char, CStr};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut, NonNull};
use std::sync::Mutex;
use tracesmith_sys as sys;

/// What becomes of records that find a thread's ring full. What is dropped is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// Who emits waits for room.
    #[default]
    Block,
    /// The new one is not taken.
    DropNewest,
    /// The oldest ones give way.
    DropOldest,
}

/// How a session records.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Where the trace goes; none: it is kept in memory.
    pub output_file: Option<PathBuf>,
    /// Of a full ring.
    pub overflow: Overflow,
    /// The ring of each thread, 4 to 262144 KiB; 0: 1024.
    pub buffer_kib: u64,
    /// Threads at once, those of forked children among them; 0: 1024.
    pub max_threads: u32,
    /// At most this much is lost with the process; 0: 200.
    pub flush_interval_ms: u32,
    /// Stops by itself after so long; 0: never.
    pub duration_ms: u64,
}

/// The name of spans, markers and allocators, in the session that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name(pub(crate) u32);

/// A counter of the session that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter(pub(crate) u32);

/// Counts of a session.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SessionInfo {
    /// Whether it records.
    pub running: bool,
    /// Events that were handed in, counters not among them.
    pub events: u64,
    /// Values of counters that were handed in.
    pub counters: u64,
    /// Of both, those that are not in the trace.
    pub dropped: u64,
}

/// A program records what it does itself: spans, markers, counters and memory, from any thread and
/// from children that it forks.
///
/// ```
/// # fn main() -> Result<(), tracesmith::Error> {
/// let session = tracesmith::Session::start(&Default::default())?;
/// let step = session.name("step");
/// let loss = session.counter_name("loss", "");
/// for i in 0..10 {
///     let _span = session.span(step);
///     session.counter(loss, 1.0 / f64::from(i + 1));
/// }
/// session.stop()?;
/// let trace = tracesmith::Trace::open(session.path())?;
/// assert_eq!(trace.rows("range")?, 10);
/// # Ok(())
/// # }
/// ```
pub struct Session {
    handle: NonNull<sys::tracesmith_session>,
    control: Mutex<()>, // of what one thread at a time may call
}

// SAFETY: emitting is for any thread, and the rest is kept apart by `control`.
unsafe impl Send for Session {}
// SAFETY: as above.
unsafe impl Sync for Session {}

impl Session {
    /// Starts to record. Errors: the file cannot be created, or the system has no room.
    pub fn start(options: &Options) -> Result<Self, Error> {
        let path = options.output_file.as_deref().map(c_path).transpose()?;
        let mut raw = sized!(tracesmith_session_options);
        raw.overflow = match options.overflow {
            Overflow::Block => sys::TRACESMITH_BLOCK,
            Overflow::DropNewest => sys::TRACESMITH_DROP_NEWEST,
            Overflow::DropOldest => sys::TRACESMITH_DROP_OLDEST,
        };
        raw.output_file = path.as_ref().map_or(null(), |path| path.as_ptr());
        raw.buffer_kib = options.buffer_kib;
        raw.max_threads = options.max_threads;
        raw.flush_interval_ms = options.flush_interval_ms;
        raw.duration_ms = options.duration_ms;
        let mut session = null_mut();
        // SAFETY: a struct that says its size, and a place for the handle.
        check(unsafe { sys::tracesmith_session_start(&raw, &mut session) })?;
        let handle = NonNull::new(session)
            .ok_or_else(|| Error::new(ErrorKind::Internal, "there is no session"))?;
        Ok(Self { handle, control: Mutex::new(()) })
    }

    fn raw(&self) -> *mut sys::tracesmith_session {
        self.handle.as_ptr()
    }

    /// Runs `f` while no other thread is in here.
    fn alone<T>(&self, f: impl FnOnce() -> T) -> T {
        let _alone = self.control.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        f()
    }

    /// Everything that was emitted before is in the trace when it returns. The second time it does
    /// nothing.
    pub fn stop(&self) -> Result<(), Error> {
        // SAFETY: the handle is alive, as in all of them below.
        self.alone(|| check(unsafe { sys::tracesmith_session_stop(self.raw()) }))
    }

    /// Brings what was emitted before into the trace, for others to read.
    pub fn flush(&self) -> Result<(), Error> {
        // SAFETY: as above.
        self.alone(|| check(unsafe { sys::tracesmith_session_flush(self.raw()) }))
    }

    /// Where the trace is, for [`crate::Trace::open`]. In memory: as long as the session is there.
    pub fn path(&self) -> PathBuf {
        use std::os::unix::ffi::OsStrExt;
        // SAFETY: a text that ends with 0 and stays.
        let path = unsafe { CStr::from_ptr(sys::tracesmith_session_path(self.raw())) };
        PathBuf::from(std::ffi::OsStr::from_bytes(path.to_bytes()))
    }

    /// Writes what was recorded so far; `.sbt`, `.json`, else Perfetto's protobuf.
    pub fn export(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = c_path(path.as_ref())?;
        // SAFETY: a text that ends with 0.
        self.alone(|| check(unsafe { sys::tracesmith_session_export(self.raw(), path.as_ptr()) }))
    }

    /// How much was recorded.
    pub fn info(&self) -> Result<SessionInfo, Error> {
        let mut info = sized!(tracesmith_session_info);
        // SAFETY: a struct that says its size.
        check(unsafe { sys::tracesmith_session_get_info(self.raw(), &mut info) })?;
        Ok(SessionInfo {
            running: info.running != 0,
            events: info.events,
            counters: info.counters,
            dropped: info.dropped,
        })
    }

    /// The name of spans, markers and allocators, to be asked for once. With that of a stopped
    /// session nothing is recorded; beyond 16 MiB of names all new ones are "(no room for more
    /// names)".
    pub fn name(&self, text: &str) -> Name {
        // SAFETY: a text and its length.
        Name(unsafe {
            sys::tracesmith_session_intern(self.raw(), text.as_ptr().cast::<c_char>(), text.len())
        })
    }

    /// A counter with its unit ("" for none), to be asked for once; as [`Session::name`]. Up to the
    /// first 0 of either text.
    pub fn counter_name(&self, name: &str, unit: &str) -> Counter {
        let cut = |text: &str| c_text(text.split('\0').next().unwrap_or(""));
        let (Ok(name), Ok(unit)) = (cut(name), cut(unit)) else { return Counter(0) };
        // SAFETY: texts that end with 0.
        Counter(unsafe {
            sys::tracesmith_session_counter_track(self.raw(), name.as_ptr(), unit.as_ptr())
        })
    }

    /// A span from here to the end of the scope.
    pub fn span(&self, name: Name) -> Span<'_> {
        Span { session: self, name, begin: self.stamp() }
    }

    pub(crate) fn stamp(&self) -> i64 {
        // SAFETY: as above.
        unsafe { sys::tracesmith_session_stamp(self.raw()) }
    }
    pub(crate) fn emit_span(&self, name: Name, begin: i64) -> bool {
        // SAFETY: as above.
        unsafe { sys::tracesmith_session_span(self.raw(), name.0, begin, self.stamp()) != 0 }
    }

    /// Marks a moment. False, here and below: it was dropped, or the session does not run.
    pub fn marker(&self, name: Name) -> bool {
        // SAFETY: as above.
        unsafe { sys::tracesmith_session_marker(self.raw(), name.0) != 0 }
    }

    /// A value of a counter, from now on.
    pub fn counter(&self, counter: Counter, value: f64) -> bool {
        // SAFETY: as above.
        unsafe { sys::tracesmith_session_counter(self.raw(), counter.0, value) != 0 }
    }

    /// An allocation by the allocator `name`.
    pub fn allocation(&self, name: Name, address: u64, bytes: u64) -> bool {
        // SAFETY: as above.
        unsafe { sys::tracesmith_session_memory(self.raw(), name.0, address, bytes, 1) != 0 }
    }

    /// The release of an allocation.
    pub fn release(&self, name: Name, address: u64, bytes: u64) -> bool {
        // SAFETY: as above.
        unsafe { sys::tracesmith_session_memory(self.raw(), name.0, address, bytes, 0) != 0 }
    }
}

impl Drop for Session {
    /// Stops.
    fn drop(&mut self) {
        // SAFETY: nothing borrows it any more.
        unsafe { sys::tracesmith_session_free(self.raw()) }
    }
}

/// A span that is recorded when it is dropped.
pub struct Span<'a> {
    session: &'a Session,
    name: Name,
    begin: i64,
}

impl Drop for Span<'_> {
    fn drop(&mut self) {
        self.session.emit_span(self.name, self.begin);
    }
}
