// SPDX-License-Identifier: Apache-2.0
//! Answers of queries: Arrow batches of int64, float64 and utf8, read row by row.
use crate::error::text_of;
use crate::{Error, ErrorKind};
use std::ffi::CStr;
use std::mem::MaybeUninit;
use tracesmith_sys as sys;

/// One value of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// A whole number.
    Integer(i64),
    /// A floating-point number.
    Real(f64),
    /// A text.
    Text(String),
}

impl Value {
    /// The number, if it is a whole number.
    pub fn as_i64(&self) -> Option<i64> {
        if let Value::Integer(value) = self {
            Some(*value)
        } else {
            None
        }
    }
    /// The number, whole or not.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Integer(value) => Some(*value as f64),
            Value::Real(value) => Some(*value),
            _ => None,
        }
    }
    /// The text.
    pub fn as_str(&self) -> Option<&str> {
        if let Value::Text(value) = self {
            Some(value)
        } else {
            None
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Null => out.write_str("NULL"),
            Value::Integer(value) => value.fmt(out),
            Value::Real(value) => value.fmt(out),
            Value::Text(value) => value.fmt(out),
        }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Integer,
    Real,
    Text,
}

/// The result of a query: its rows, one after the other, as the query finds them.
pub struct Answer {
    stream: Stream,
    columns: Vec<String>,
    kinds: Vec<Kind>,
    batch: Option<Batch>,
    row: usize,
    over: bool,
}

struct Stream(sys::ArrowArrayStream);
// SAFETY: the library allows any thread to read it, one at a time.
unsafe impl Send for Stream {}
impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(release) = self.0.release {
            // SAFETY: it was not released yet.
            unsafe { release(&mut self.0) }
        }
    }
}

struct Batch(sys::ArrowArray);
// SAFETY: it is read-only, and any thread may release it.
unsafe impl Send for Batch {}
impl Drop for Batch {
    fn drop(&mut self) {
        if let Some(release) = self.0.release {
            // SAFETY: it was not released yet.
            unsafe { release(&mut self.0) }
        }
    }
}

impl Batch {
    fn len(&self) -> usize {
        self.0.length as usize
    }
    /// The value at `row` of a column of this kind. `row` must be less than len().
    fn value(&self, column: usize, kind: Kind, row: usize) -> Value {
        // SAFETY: Arrow's interface defines children and buffers of these types, and the row is
        // in range.
        unsafe {
            let child = &**self.0.children.add(column);
            let place = row + child.offset as usize;
            let valid = (*child.buffers).cast::<u8>();
            if !valid.is_null() && *valid.add(place / 8) >> (place % 8) & 1 == 0 {
                return Value::Null;
            }
            let data = *child.buffers.add(1);
            match kind {
                Kind::Integer => Value::Integer(*data.cast::<i64>().add(place)),
                Kind::Real => Value::Real(*data.cast::<f64>().add(place)),
                Kind::Text => {
                    let (begin, end) =
                        (*data.cast::<i32>().add(place), *data.cast::<i32>().add(place + 1));
                    let bytes = (*child.buffers.add(2)).cast::<u8>();
                    let text = match end - begin {
                        0 => &[],
                        length => {
                            std::slice::from_raw_parts(bytes.add(begin as usize), length as usize)
                        }
                    };
                    Value::Text(String::from_utf8_lossy(text).into_owned())
                }
            }
        }
    }
}

impl Answer {
    pub(crate) fn new(stream: sys::ArrowArrayStream) -> Result<Self, Error> {
        let mut answer = Self {
            stream: Stream(stream),
            columns: Vec::new(),
            kinds: Vec::new(),
            batch: None,
            row: 0,
            over: false,
        };
        answer.read_schema()?;
        Ok(answer)
    }

    /// The error for a call that returned this errno.
    fn error(&mut self, errno: i32) -> Error {
        let kind = match errno {
            12 => ErrorKind::NoSpace,         // ENOMEM
            22 => ErrorKind::InvalidArgument, // EINVAL
            125 => ErrorKind::Interrupted,    // ECANCELED
            _ => ErrorKind::Io,
        };
        let message = self.stream.0.get_last_error.map(|last| {
            // SAFETY: null, or a text that is valid until the stream's next call.
            unsafe {
                let text = last(&mut self.stream.0);
                if text.is_null() {
                    String::new()
                } else {
                    text_of(text)
                }
            }
        });
        let message = message.filter(|text| !text.is_empty());
        Error::new(kind, message.unwrap_or_else(|| format!("the query failed with error {errno}")))
    }

    fn read_schema(&mut self) -> Result<(), Error> {
        let get = self.stream.0.get_schema.expect("the interface has it");
        let mut schema = MaybeUninit::<sys::ArrowSchema>::uninit();
        // SAFETY: a valid out pointer, which is released below.
        let errno = unsafe { get(&mut self.stream.0, schema.as_mut_ptr()) };
        if errno != 0 {
            return Err(self.error(errno));
        }
        // SAFETY: the call has filled it; children have NUL-terminated names and formats.
        unsafe {
            let mut schema = schema.assume_init();
            let mut unknown = None;
            for place in 0..schema.n_children as usize {
                let child = &**schema.children.add(place);
                self.columns.push(text_of(child.name));
                match CStr::from_ptr(child.format).to_bytes() {
                    b"l" => self.kinds.push(Kind::Integer),
                    b"g" => self.kinds.push(Kind::Real),
                    b"u" => self.kinds.push(Kind::Text),
                    _ => unknown = Some(text_of(child.format)),
                }
            }
            if let Some(release) = schema.release {
                release(&mut schema);
            }
            match unknown {
                None => Ok(()),
                Some(format) => Err(Error::new(
                    ErrorKind::Unsupported,
                    format!("the library is newer than this crate: values of type '{format}'"),
                )),
            }
        }
    }

    /// The names of the columns, from the query.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Reads the next batch. False: there is none.
    fn next_batch(&mut self) -> Result<bool, Error> {
        let get = self.stream.0.get_next.expect("the interface has it");
        let mut batch = MaybeUninit::<sys::ArrowArray>::uninit();
        // SAFETY: a valid out pointer, which Batch releases.
        let errno = unsafe { get(&mut self.stream.0, batch.as_mut_ptr()) };
        if errno != 0 {
            return Err(self.error(errno));
        }
        // SAFETY: the call has filled it.
        let batch = Batch(unsafe { batch.assume_init() });
        self.row = 0;
        let there = batch.0.release.is_some();
        self.batch = there.then_some(batch);
        Ok(there)
    }
}

impl Iterator for Answer {
    /// A row, or an error: the query was interrupted, or a value does not fit its column.
    type Item = Result<Vec<Value>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.over {
            if let Some(batch) = &self.batch {
                if self.row < batch.len() {
                    let row = self.row;
                    self.row += 1;
                    let values = self.kinds.iter().enumerate();
                    return Some(Ok(values.map(|(i, &kind)| batch.value(i, kind, row)).collect()));
                }
            }
            match self.next_batch() {
                Ok(true) => {}
                Ok(false) => self.over = true,
                Err(error) => {
                    self.over = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}
