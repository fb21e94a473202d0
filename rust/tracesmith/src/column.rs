// SPDX-License-Identifier: Apache-2.0
use crate::error::{check, sized};
use crate::Error;
use std::ptr::NonNull;
use std::slice;
use tracesmith_sys as sys;

/// A column of a table: a value for each row. Stored numbers are not copied; texts and derived
/// values are computed. A column stays valid when the trace is dropped.
pub struct Column {
    handle: NonNull<sys::tracesmith_column>,
    view: sys::tracesmith_column_view,
}

// SAFETY: it is read-only, and any thread may free it.
unsafe impl Send for Column {}
// SAFETY: as above.
unsafe impl Sync for Column {}

/// The values of a column, by their type.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Values<'a> {
    /// Ids, for example.
    U32(&'a [u32]),
    /// Times and durations in ns, and other whole numbers.
    I64(&'a [i64]),
    /// Addresses, bytes, correlation ids.
    U64(&'a [u64]),
    /// Numbers.
    F64(&'a [f64]),
    /// Names and kinds.
    Texts(Texts<'a>),
}

/// A column of texts. Each different text is stored once; each row has the index of its text.
#[derive(Clone, Copy, Debug)]
pub struct Texts<'a> {
    /// The index of each row's text; -1 for no text.
    pub codes: &'a [i32],
    begins: &'a [i64],
    bytes: &'a str,
}

impl<'a> Texts<'a> {
    /// The number of different texts.
    pub fn categories(&self) -> usize {
        self.begins.len() - 1
    }
    /// The text with this index. Texts are ordered by their bytes. Panics if there is no such
    /// index.
    pub fn category(&self, code: usize) -> &'a str {
        &self.bytes[self.begins[code] as usize..self.begins[code + 1] as usize]
    }
    /// The text of a row; `None` if it has none. Panics if there is no such row.
    pub fn get(&self, row: usize) -> Option<&'a str> {
        usize::try_from(self.codes[row]).ok().map(|code| self.category(code))
    }
    /// The text of each row.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<&'a str>> + 'a {
        let texts = *self;
        (0..texts.codes.len()).map(move |row| texts.get(row))
    }
    /// The index of a text; `None` if no row has it.
    pub fn code_of(&self, text: &str) -> Option<i32> {
        let (mut low, mut high) = (0, self.categories());
        while low < high {
            let middle = (low + high) / 2;
            match self.category(middle).cmp(text) {
                std::cmp::Ordering::Equal => return Some(middle as i32),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }
}

impl Column {
    pub(crate) fn new(handle: NonNull<sys::tracesmith_column>) -> Result<Self, Error> {
        let mut column = Self { handle, view: sized!(tracesmith_column_view) };
        // SAFETY: a valid column, and a struct with its size set.
        check(unsafe { sys::tracesmith_column_get(handle.as_ptr(), &mut column.view) })?;
        match column.view.type_ {
            sys::TRACESMITH_UINT32..=sys::TRACESMITH_TEXT => Ok(column),
            other => Err(Error::new(
                crate::ErrorKind::Unsupported,
                format!("the library is newer than this crate: values of type {other}"),
            )),
        }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.view.rows as usize
    }
    /// Whether the table has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// # Safety
    /// `data` points to `len` values that live as long as the column, or `len` is 0.
    unsafe fn slice<T>(&self, data: *const T, len: usize) -> &[T] {
        if len == 0 {
            return &[];
        }
        // SAFETY: as the caller says.
        unsafe { slice::from_raw_parts(data, len) }
    }

    /// The values. The value of an unknown row (see [`Column::is_known`]) has no meaning.
    pub fn values(&self) -> Values<'_> {
        let (data, len) = (self.view.values, self.len());
        // SAFETY: the header documents these types and lengths.
        unsafe {
            match self.view.type_ {
                sys::TRACESMITH_UINT32 => Values::U32(self.slice(data.cast(), len)),
                sys::TRACESMITH_INT64 => Values::I64(self.slice(data.cast(), len)),
                sys::TRACESMITH_UINT64 => Values::U64(self.slice(data.cast(), len)),
                sys::TRACESMITH_DOUBLE => Values::F64(self.slice(data.cast(), len)),
                _ => {
                    let begins =
                        self.slice(self.view.text_begins, self.view.text_count as usize + 1);
                    let bytes: &[u8] =
                        self.slice(self.view.texts.cast(), begins[begins.len() - 1] as usize);
                    Values::Texts(Texts {
                        codes: self.slice(data.cast(), len),
                        begins,
                        // The library replaces invalid UTF-8.
                        bytes: std::str::from_utf8_unchecked(bytes),
                    })
                }
            }
        }
    }
    /// The values, if they have this type.
    pub fn u32s(&self) -> Option<&[u32]> {
        if let Values::U32(values) = self.values() {
            Some(values)
        } else {
            None
        }
    }
    /// The values, if they have this type.
    pub fn i64s(&self) -> Option<&[i64]> {
        if let Values::I64(values) = self.values() {
            Some(values)
        } else {
            None
        }
    }
    /// The values, if they have this type.
    pub fn u64s(&self) -> Option<&[u64]> {
        if let Values::U64(values) = self.values() {
            Some(values)
        } else {
            None
        }
    }
    /// The values, if they have this type.
    pub fn f64s(&self) -> Option<&[f64]> {
        if let Values::F64(values) = self.values() {
            Some(values)
        } else {
            None
        }
    }
    /// The texts, if the column has texts.
    pub fn texts(&self) -> Option<Texts<'_>> {
        if let Values::Texts(texts) = self.values() {
            Some(texts)
        } else {
            None
        }
    }

    /// The number of rows with an unknown value.
    pub fn nulls(&self) -> usize {
        self.view.nulls as usize
    }
    /// Whether the trace knows the value of this row. Panics if there is no such row.
    pub fn is_known(&self, row: usize) -> bool {
        assert!(row < self.len(), "row {row} of {}", self.len());
        // SAFETY: `valid` is null or has a bit for each row.
        self.view.valid.is_null() || unsafe { *self.view.valid.add(row / 8) } >> (row % 8) & 1 == 1
    }
}

impl Drop for Column {
    fn drop(&mut self) {
        // SAFETY: freed only here, when nothing borrows it any more.
        unsafe { sys::tracesmith_column_free(self.handle.as_ptr()) }
    }
}

impl std::fmt::Debug for Column {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.values() {
            Values::U32(_) => "u32",
            Values::I64(_) => "i64",
            Values::U64(_) => "u64",
            Values::F64(_) => "f64",
            Values::Texts(_) => "text",
        };
        write!(out, "Column({} {kind}, {} unknown)", self.len(), self.nulls())
    }
}
