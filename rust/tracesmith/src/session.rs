// SPDX-License-Identifier: Apache-2.0
use crate::error::{c_path, c_text, check, sized};
use crate::{Error, ErrorKind};
use std::ffi::{c_char, CStr};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut, NonNull};
use std::sync::Mutex;
use tracesmith_sys as sys;

/// The action when a thread's ring is full. Dropped events are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// The emitting thread waits for room.
    #[default]
    Block,
    /// The new event is dropped.
    DropNewest,
    /// The oldest events are dropped.
    DropOldest,
}

/// Settings of a session.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The path of the trace; `None`: the trace is kept in memory.
    pub output_file: Option<PathBuf>,
    /// The action when a ring is full.
    pub overflow: Overflow,
    /// The size of each thread's ring, 4 to 262144 KiB; 0: 1024.
    pub buffer_kib: u64,
    /// The number of threads at once, including those of forked children; 0: 1024.
    pub max_threads: u32,
    /// A killed process loses at most the events of this time; 0: 200.
    pub flush_interval_ms: u32,
    /// Stops the session after this time; 0: never.
    pub duration_ms: u64,
}

/// A name for spans, markers and allocators; valid in the session that created it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name(pub(crate) u32);

/// A counter; valid in the session that created it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter(pub(crate) u32);

/// Counts of a session.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SessionInfo {
    /// Whether the session records.
    pub running: bool,
    /// Emitted events, without counters.
    pub events: u64,
    /// Emitted values of counters.
    pub counters: u64,
    /// Events and values that are not in the trace.
    pub dropped: u64,
}

/// Records the program itself: spans, markers, counters and memory, from any thread and from forked
/// children.
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
    control: Mutex<()>, // held by calls that are not thread-safe
}

// SAFETY: emitting is thread-safe; `control` serialises the rest.
unsafe impl Send for Session {}
// SAFETY: as above.
unsafe impl Sync for Session {}

impl Session {
    /// Starts recording. Errors: the file cannot be created, or the system has no room.
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
        // SAFETY: a struct with its size set, and a valid out pointer.
        check(unsafe { sys::tracesmith_session_start(&raw, &mut session) })?;
        let handle = NonNull::new(session)
            .ok_or_else(|| Error::new(ErrorKind::Internal, "there is no session"))?;
        Ok(Self { handle, control: Mutex::new(()) })
    }

    fn raw(&self) -> *mut sys::tracesmith_session {
        self.handle.as_ptr()
    }

    /// Runs `f` under `control`.
    fn alone<T>(&self, f: impl FnOnce() -> T) -> T {
        let _alone = self.control.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        f()
    }

    /// Stops recording. Everything that was emitted before is then in the trace. A second call does
    /// nothing.
    pub fn stop(&self) -> Result<(), Error> {
        // SAFETY: the handle is alive, here and in all calls below.
        self.alone(|| check(unsafe { sys::tracesmith_session_stop(self.raw()) }))
    }

    /// Writes everything that was emitted before to the trace, so that others can read it.
    pub fn flush(&self) -> Result<(), Error> {
        // SAFETY: as above.
        self.alone(|| check(unsafe { sys::tracesmith_session_flush(self.raw()) }))
    }

    /// The path of the trace, for [`crate::Trace::open`]. A trace in memory exists only as long as
    /// the session.
    pub fn path(&self) -> PathBuf {
        use std::os::unix::ffi::OsStrExt;
        // SAFETY: a NUL-terminated text that lives as long as the session.
        let path = unsafe { CStr::from_ptr(sys::tracesmith_session_path(self.raw())) };
        PathBuf::from(std::ffi::OsStr::from_bytes(path.to_bytes()))
    }

    /// Writes the events so far. The extension selects the format: `.sbt`, `.json`, else Perfetto's
    /// protobuf.
    pub fn export(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = c_path(path.as_ref())?;
        // SAFETY: a NUL-terminated text.
        self.alone(|| check(unsafe { sys::tracesmith_session_export(self.raw(), path.as_ptr()) }))
    }

    /// Counts of the session.
    pub fn info(&self) -> Result<SessionInfo, Error> {
        let mut info = sized!(tracesmith_session_info);
        // SAFETY: a struct with its size set.
        check(unsafe { sys::tracesmith_session_get_info(self.raw(), &mut info) })?;
        Ok(SessionInfo {
            running: info.running != 0,
            events: info.events,
            counters: info.counters,
            dropped: info.dropped,
        })
    }

    /// Registers a name for spans, markers and allocators; call it once for each name. A name from
    /// a stopped session records nothing. After 16 MiB of names, all new ones are "(no room for
    /// more names)".
    pub fn name(&self, text: &str) -> Name {
        // SAFETY: a text and its length.
        Name(unsafe {
            sys::tracesmith_session_intern(self.raw(), text.as_ptr().cast::<c_char>(), text.len())
        })
    }

    /// Registers a counter with its unit ("" for none); see [`Session::name`]. Both texts end at
    /// their first NUL.
    pub fn counter_name(&self, name: &str, unit: &str) -> Counter {
        let cut = |text: &str| c_text(text.split('\0').next().unwrap_or(""));
        let (Ok(name), Ok(unit)) = (cut(name), cut(unit)) else { return Counter(0) };
        // SAFETY: NUL-terminated texts.
        Counter(unsafe {
            sys::tracesmith_session_counter_track(self.raw(), name.as_ptr(), unit.as_ptr())
        })
    }

    /// Starts a span, which ends with the scope.
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

    /// Records a marker. False, here and below: it was dropped, or the session does not run.
    pub fn marker(&self, name: Name) -> bool {
        // SAFETY: as above.
        unsafe { sys::tracesmith_session_marker(self.raw(), name.0) != 0 }
    }

    /// Records the value of a counter from now on.
    pub fn counter(&self, counter: Counter, value: f64) -> bool {
        // SAFETY: as above.
        unsafe { sys::tracesmith_session_counter(self.raw(), counter.0, value) != 0 }
    }

    /// Records an allocation by the allocator `name`.
    pub fn allocation(&self, name: Name, address: u64, bytes: u64) -> bool {
        // SAFETY: as above.
        unsafe { sys::tracesmith_session_memory(self.raw(), name.0, address, bytes, 1) != 0 }
    }

    /// Records the release of an allocation.
    pub fn release(&self, name: Name, address: u64, bytes: u64) -> bool {
        // SAFETY: as above.
        unsafe { sys::tracesmith_session_memory(self.raw(), name.0, address, bytes, 0) != 0 }
    }
}

impl Drop for Session {
    /// Stops the session.
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
