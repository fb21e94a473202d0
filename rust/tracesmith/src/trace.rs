// SPDX-License-Identifier: Apache-2.0
use crate::error::{c_path, c_text, c_texts, check, sized, text_of};
use crate::{Answer, Column, Error, ErrorKind};
use std::ffi::{c_char, CString};
use std::path::Path;
use std::ptr::{null_mut, NonNull};
use std::sync::Arc;
use tracesmith_sys as sys;

pub(crate) struct Handle(NonNull<sys::tracesmith_trace>);

// SAFETY: the library serialises calls of several threads.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: this is the last owner of the handle.
        unsafe { sys::tracesmith_close(self.0.as_ptr()) }
    }
}

/// An open trace: `.sbt`, or another tool's. Threads may share it; their calls take turns. Events
/// are read from the file on first access, and stay in memory.
#[derive(Clone)]
pub struct Trace {
    handle: Arc<Handle>,
}

/// Facts about the file of a trace.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TraceInfo {
    /// False: the trace was cut off, or is still being written.
    pub complete: bool,
    /// Size of the file; for another tool's trace, the size of the source.
    pub file_bytes: u64,
    /// Bytes of an incomplete block at the end.
    pub cut_bytes: u64,
    /// Number of damaged parts that reading has met so far.
    pub damaged: u64,
}

/// A table of a trace.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TableInfo {
    /// Name in SQL.
    pub name: String,
    /// Meaning of a row.
    pub meaning: String,
    /// Its columns.
    pub columns: Vec<ColumnInfo>,
}

/// A column of a table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ColumnInfo {
    /// Name in SQL.
    pub name: String,
    /// `INTEGER`, `REAL` or `TEXT`.
    pub kind: String,
    /// Meaning of the column.
    pub meaning: String,
}

/// Ends long calls from any thread; see [`Trace::interrupt`].
#[derive(Clone)]
pub struct Interrupt {
    handle: Arc<Handle>,
}

impl Interrupt {
    /// Running calls, and answers that are still being read, fail with "interrupted".
    pub fn now(&self) {
        // SAFETY: the handle is alive.
        unsafe { sys::tracesmith_interrupt(self.handle.0.as_ptr()) }
    }
}

pub(crate) struct Pointers {
    _texts: Vec<CString>,
    all: Vec<*const c_char>,
}
impl Pointers {
    pub(crate) fn new(texts: &[&str]) -> Result<Self, Error> {
        let texts = c_texts(texts)?;
        let all = texts.iter().map(|text| text.as_ptr()).collect();
        Ok(Self { _texts: texts, all })
    }
}

impl Trace {
    /// Opens a trace. Errors: `NotFound`, `NotATrace`, `TooNew`, `Damaged`, `Permission`, `Io`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = c_path(path.as_ref())?;
        let mut trace = null_mut();
        // SAFETY: a NUL-terminated text, and a valid out pointer.
        check(unsafe { sys::tracesmith_open(path.as_ptr(), &mut trace) })?;
        let handle = NonNull::new(trace)
            .ok_or_else(|| Error::new(ErrorKind::Internal, "there is no trace"))?;
        Ok(Self { handle: Arc::new(Handle(handle)) })
    }

    fn raw(&self) -> *mut sys::tracesmith_trace {
        self.handle.0.as_ptr()
    }

    /// Facts about the file of the trace.
    pub fn info(&self) -> Result<TraceInfo, Error> {
        let mut info = sized!(tracesmith_trace_info);
        // SAFETY: a struct with its size set.
        check(unsafe { sys::tracesmith_trace_get_info(self.raw(), &mut info) })?;
        Ok(TraceInfo {
            complete: info.complete != 0,
            file_bytes: info.file_bytes,
            cut_bytes: info.cut_bytes,
            damaged: info.damaged,
        })
    }

    /// The tables with their columns.
    pub fn tables(&self) -> Result<Vec<TableInfo>, Error> {
        // SAFETY: the handle is alive, here and in all calls below.
        let count = unsafe { sys::tracesmith_table_count(self.raw()) };
        (0..count).map(|index| self.table_at(index)).collect()
    }

    fn table_at(&self, index: usize) -> Result<TableInfo, Error> {
        let mut table = sized!(tracesmith_table_info);
        // SAFETY: a struct with its size set; its texts live as long as the trace.
        let (name, meaning) = unsafe {
            check(sys::tracesmith_table_at(self.raw(), index, &mut table))?;
            (text_of(table.name), text_of(table.meaning))
        };
        let columns = (0..table.columns as usize)
            .map(|place| {
                let mut column = sized!(tracesmith_column_info);
                // SAFETY: as above.
                unsafe {
                    check(sys::tracesmith_column_at(self.raw(), table.name, place, &mut column))?;
                    Ok(ColumnInfo {
                        name: text_of(column.name),
                        kind: text_of(column.type_),
                        meaning: text_of(column.meaning),
                    })
                }
            })
            .collect::<Result<_, Error>>()?;
        Ok(TableInfo { name, meaning, columns })
    }

    /// The number of rows of a table. `NotFound`: there is no such table.
    pub fn rows(&self, table: &str) -> Result<u64, Error> {
        let table = c_text(table)?;
        let mut rows = 0;
        // SAFETY: a NUL-terminated text, and a valid out pointer.
        check(unsafe { sys::tracesmith_row_count(self.raw(), table.as_ptr(), &mut rows) })?;
        Ok(rows)
    }

    /// Reads these columns in one pass over the file. This is faster than one call of
    /// [`Trace::column`] for each.
    pub fn load(&self, table: &str, columns: &[&str]) -> Result<(), Error> {
        let table = c_text(table)?;
        let names = Pointers::new(columns)?;
        // SAFETY: NUL-terminated texts, and their number.
        check(unsafe {
            sys::tracesmith_load(self.raw(), table.as_ptr(), names.all.as_ptr(), names.all.len())
        })
    }

    /// A column; stored numbers are not copied. `NotFound`: there is no such table or column;
    /// `NoSpace`: there is no room for it in memory.
    pub fn column(&self, table: &str, name: &str) -> Result<Column, Error> {
        let (table, name) = (c_text(table)?, c_text(name)?);
        let mut column = null_mut();
        // SAFETY: NUL-terminated texts, and a valid out pointer.
        check(unsafe {
            sys::tracesmith_column_read(self.raw(), table.as_ptr(), name.as_ptr(), &mut column)
        })?;
        Column::new(
            NonNull::new(column)
                .ok_or_else(|| Error::new(ErrorKind::Internal, "there is no column"))?,
        )
    }

    /// Runs one SELECT in SQLite's language over the tables. Times are in ns. `InvalidArgument`: a
    /// mistake in it; `Permission`: it would do more than read the trace.
    pub fn query(&self, sql: &str) -> Result<Answer, Error> {
        Answer::new(self.query_arrow(sql)?)
    }

    /// The same as a stream of Arrow's C interface, for Arrow crates. The caller must release it.
    pub fn query_arrow(&self, sql: &str) -> Result<sys::ArrowArrayStream, Error> {
        let sql = c_text(sql)?;
        let mut stream = empty_stream();
        // SAFETY: a NUL-terminated text, and a valid out pointer.
        check(unsafe { sys::tracesmith_query(self.raw(), sql.as_ptr(), &mut stream) })?;
        Ok(stream)
    }

    /// Columns of a table as one batch of Arrow's C interface. The caller must release it.
    pub fn arrow(&self, table: &str, columns: &[&str]) -> Result<sys::ArrowArrayStream, Error> {
        let table = c_text(table)?;
        let names = Pointers::new(columns)?;
        let mut stream = empty_stream();
        // SAFETY: NUL-terminated texts, their number, and a valid out pointer.
        check(unsafe {
            sys::tracesmith_arrow(
                self.raw(),
                table.as_ptr(),
                names.all.as_ptr(),
                names.all.len(),
                &mut stream,
            )
        })?;
        Ok(stream)
    }

    /// A handle with which another thread, or a signal handler, ends the running calls of this
    /// trace.
    pub fn interrupt(&self) -> Interrupt {
        Interrupt { handle: self.handle.clone() }
    }

    /// The JSON of `tracesmith analyze --json`. `parts`: its option names ("gpu-util", "idle",
    /// ...); none: all parts. `limit`: the number of rows in tables by name; 0: all rows.
    pub fn analyze(&self, parts: &[&str], limit: u64) -> Result<String, Error> {
        let names = Pointers::new(parts)?;
        let mut json = null_mut();
        // SAFETY: NUL-terminated texts, their number, and a place for a text that we free.
        unsafe {
            check(sys::tracesmith_analyze(
                self.raw(),
                names.all.as_ptr(),
                names.all.len(),
                limit,
                &mut json,
            ))?;
            let text = text_of(json);
            sys::tracesmith_string_free(json);
            Ok(text)
        }
    }

    /// Writes a file for other tools: Chrome's JSON if its name ends in `.json`, else Perfetto's
    /// protobuf.
    pub fn export(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = c_path(path.as_ref())?;
        // SAFETY: a NUL-terminated text.
        check(unsafe { sys::tracesmith_export(self.raw(), path.as_ptr()) })
    }

    /// The same, with the frames of the interpreter, libffi and the loader in stacks.
    pub fn export_all_frames(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = c_path(path.as_ref())?;
        // SAFETY: a NUL-terminated text.
        check(unsafe { sys::tracesmith_export_all_frames(self.raw(), path.as_ptr()) })
    }
}

fn empty_stream() -> sys::ArrowArrayStream {
    sys::ArrowArrayStream {
        get_schema: None,
        get_next: None,
        get_last_error: None,
        release: None,
        private_data: null_mut(),
    }
}
