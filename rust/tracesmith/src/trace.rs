// SPDX-License-Identifier: Apache-2.0
use crate::error::{c_path, c_text, c_texts, check, sized, text_of};
use crate::{Answer, Column, Error, ErrorKind};
use std::ffi::{c_char, CString};
use std::path::Path;
use std::ptr::{null_mut, NonNull};
use std::sync::Arc;
use tracesmith_sys as sys;

pub(crate) struct Handle(NonNull<sys::tracesmith_trace>);

// SAFETY: threads that call it wait for each other.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: who has a handle keeps it alive.
        unsafe { sys::tracesmith_close(self.0.as_ptr()) }
    }
}

/// A trace that is open for reading: `.sbt`, or another tool's. Threads may share it; their calls
/// wait for each other. Events are read from the file when they are asked for, and stay.
#[derive(Clone)]
pub struct Trace {
    handle: Arc<Handle>,
}

/// What is known of a trace as a file.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TraceInfo {
    /// False: it was cut off, or is still being written.
    pub complete: bool,
    /// Of the source, where it was another tool's.
    pub file_bytes: u64,
    /// At the end, of what was not written whole.
    pub cut_bytes: u64,
    /// Stretches that could not be read, as far as they were met by now.
    pub damaged: u64,
}

/// A table of a trace.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TableInfo {
    /// As in SQL.
    pub name: String,
    /// What its rows are.
    pub meaning: String,
    /// Its columns.
    pub columns: Vec<ColumnInfo>,
}

/// A column of a table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ColumnInfo {
    /// As in SQL.
    pub name: String,
    /// `INTEGER`, `REAL` or `TEXT`.
    pub kind: String,
    /// What it says.
    pub meaning: String,
}

/// Ends what takes long, from any thread; see [`Trace::interrupt`].
#[derive(Clone)]
pub struct Interrupt {
    handle: Arc<Handle>,
}

impl Interrupt {
    /// Calls that have not returned, and answers that are still read, fail with "interrupted".
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
        // SAFETY: a text that ends with 0, and a place for the handle.
        check(unsafe { sys::tracesmith_open(path.as_ptr(), &mut trace) })?;
        let handle = NonNull::new(trace)
            .ok_or_else(|| Error::new(ErrorKind::Internal, "there is no trace"))?;
        Ok(Self { handle: Arc::new(Handle(handle)) })
    }

    fn raw(&self) -> *mut sys::tracesmith_trace {
        self.handle.0.as_ptr()
    }

    /// What is known of it as a file.
    pub fn info(&self) -> Result<TraceInfo, Error> {
        let mut info = sized!(tracesmith_trace_info);
        // SAFETY: a struct that says its size.
        check(unsafe { sys::tracesmith_trace_get_info(self.raw(), &mut info) })?;
        Ok(TraceInfo {
            complete: info.complete != 0,
            file_bytes: info.file_bytes,
            cut_bytes: info.cut_bytes,
            damaged: info.damaged,
        })
    }

    /// Its tables with their columns.
    pub fn tables(&self) -> Result<Vec<TableInfo>, Error> {
        // SAFETY: the handle is alive, as all of them below.
        let count = unsafe { sys::tracesmith_table_count(self.raw()) };
        (0..count).map(|index| self.table_at(index)).collect()
    }

    fn table_at(&self, index: usize) -> Result<TableInfo, Error> {
        let mut table = sized!(tracesmith_table_info);
        // SAFETY: a struct that says its size; its texts live as long as the trace.
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

    /// How many rows a table has. `NotFound`: there is no such table.
    pub fn rows(&self, table: &str) -> Result<u64, Error> {
        let table = c_text(table)?;
        let mut rows = 0;
        // SAFETY: a text that ends with 0, and a place for the number.
        check(unsafe { sys::tracesmith_row_count(self.raw(), table.as_ptr(), &mut rows) })?;
        Ok(rows)
    }

    /// Reads these columns in one pass over the file, before they are asked for one by one.
    pub fn load(&self, table: &str, columns: &[&str]) -> Result<(), Error> {
        let table = c_text(table)?;
        let names = Pointers::new(columns)?;
        // SAFETY: texts that end with 0, and their number.
        check(unsafe {
            sys::tracesmith_load(self.raw(), table.as_ptr(), names.all.as_ptr(), names.all.len())
        })
    }

    /// A column, without a copy where the trace has its values as they are. `NotFound`: there is no
    /// such table or column; `NoSpace`: there is no room for it in memory.
    pub fn column(&self, table: &str, name: &str) -> Result<Column, Error> {
        let (table, name) = (c_text(table)?, c_text(name)?);
        let mut column = null_mut();
        // SAFETY: texts that end with 0, and a place for the handle.
        check(unsafe {
            sys::tracesmith_column_read(self.raw(), table.as_ptr(), name.as_ptr(), &mut column)
        })?;
        Column::new(
            NonNull::new(column)
                .ok_or_else(|| Error::new(ErrorKind::Internal, "there is no column"))?,
        )
    }

    /// Asks one SELECT of SQLite over the tables; times are in ns. `InvalidArgument`: a mistake in
    /// it; `Permission`: it would do more than read the trace.
    pub fn query(&self, sql: &str) -> Result<Answer, Error> {
        Answer::new(self.query_arrow(sql)?)
    }

    /// The same as a stream of Arrow's C interface, for the crates of Arrow. Who takes it releases
    /// it.
    pub fn query_arrow(&self, sql: &str) -> Result<sys::ArrowArrayStream, Error> {
        let sql = c_text(sql)?;
        let mut stream = empty_stream();
        // SAFETY: a text that ends with 0, and a place for the stream.
        check(unsafe { sys::tracesmith_query(self.raw(), sql.as_ptr(), &mut stream) })?;
        Ok(stream)
    }

    /// Columns of a table as one batch of Arrow's C interface. Who takes it releases it.
    pub fn arrow(&self, table: &str, columns: &[&str]) -> Result<sys::ArrowArrayStream, Error> {
        let table = c_text(table)?;
        let names = Pointers::new(columns)?;
        let mut stream = empty_stream();
        // SAFETY: texts that end with 0, their number, and a place for the stream.
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

    /// For another thread, or a handler of signals, to end what this trace was asked until then.
    pub fn interrupt(&self) -> Interrupt {
        Interrupt { handle: self.handle.clone() }
    }

    /// What `tracesmith analyze --json` says. `parts`: their names there ("gpu-util", "idle", ...),
    /// none: all. `limit`: rows of tables by name; 0: all.
    pub fn analyze(&self, parts: &[&str], limit: u64) -> Result<String, Error> {
        let names = Pointers::new(parts)?;
        let mut json = null_mut();
        // SAFETY: texts that end with 0, their number, and a place for a text that we free.
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

    /// Writes a file for other tools: Chrome's JSON where its name ends in `.json`, else Perfetto's
    /// protobuf.
    pub fn export(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = c_path(path.as_ref())?;
        // SAFETY: a text that ends with 0.
        check(unsafe { sys::tracesmith_export(self.raw(), path.as_ptr()) })
    }

    /// The same; stacks have also the frames of the interpreter, libffi and the loader.
    pub fn export_all_frames(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = c_path(path.as_ref())?;
        // SAFETY: a text that ends with 0.
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
