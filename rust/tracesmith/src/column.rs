// SPDX-License-Identifier: Apache-2.0
use crate::error::{check, sized};
use crate::Error;
use std::ptr::NonNull;
use std::slice;
use tracesmith_sys as sys;

/// A column of a table: a value for each row, as they lie in the trace's memory. It stays whole when
/// the trace is dropped.
pub struct Column {
    handle: NonNull<sys::tracesmith_column>,
    view: sys::tracesmith_column_view,
}

// SAFETY: nobody writes to it, and freeing it is bound to no thread.
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

/// A column of texts: each text is there once, and each row has the number of its text.
#[derive(Clone, Copy, Debug)]
pub struct Texts<'a> {
    /// The number of each row's text, -1 where it has none.
    pub codes: &'a [i32],
    begins: &'a [i64],
    bytes: &'a str,
}

impl<'a> Texts<'a> {
    /// How many different texts there are.
    pub fn categories(&self) -> usize {
        self.begins.len() - 1
    }
    /// The text with this number; in the order of their bytes. Panics where there is none.
    pub fn category(&self, code: usize) -> &'a str {
        &self.bytes[self.begins[code] as usize..self.begins[code + 1] as usize]
    }
    /// The text of a row, where it has one. Panics where there is no such row.
    pub fn get(&self, row: usize) -> Option<&'a str> {
        usize::try_from(self.codes[row]).ok().map(|code| self.category(code))
    }
    /// That of each row.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<&'a str>> + 'a {
        let texts = *self;
        (0..texts.codes.len()).map(move |row| texts.get(row))
    }
    /// The number of a text, where some row has it.
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
        // SAFETY: a column of the library's, and a struct that says its size.
        check(unsafe { sys::tracesmith_column_get(handle.as_ptr(), &mut column.view) })?;
        Ok(column)
    }

    /// Its number of rows.
    pub fn len(&self) -> usize {
        self.view.rows as usize
    }
    /// Whether the table has no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// # Safety
    /// `data` has `len` of them, as long as the column is there, or `len` is 0.
    unsafe fn slice<T>(&self, data: *const T, len: usize) -> &[T] {
        if len == 0 {
            return &[];
        }
        // SAFETY: as the caller says.
        unsafe { slice::from_raw_parts(data, len) }
    }

    /// Its values; where a row has none (see [`Column::is_known`]) there is 0.
    pub fn values(&self) -> Values<'_> {
        let (data, len) = (self.view.values, self.len());
        // SAFETY: the header says so of each type.
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
                        // The library replaces what is not.
                        bytes: std::str::from_utf8_unchecked(bytes),
                    })
                }
            }
        }
    }
    /// The values, where they are of this type.
    pub fn u32s(&self) -> Option<&[u32]> {
        if let Values::U32(values) = self.values() {
            Some(values)
        } else {
            None
        }
    }
    /// The values, where they are of this type.
    pub fn i64s(&self) -> Option<&[i64]> {
        if let Values::I64(values) = self.values() {
            Some(values)
        } else {
            None
        }
    }
    /// The values, where they are of this type.
    pub fn u64s(&self) -> Option<&[u64]> {
        if let Values::U64(values) = self.values() {
            Some(values)
        } else {
            None
        }
    }
    /// The values, where they are of this type.
    pub fn f64s(&self) -> Option<&[f64]> {
        if let Values::F64(values) = self.values() {
            Some(values)
        } else {
            None
        }
    }
    /// The texts, where it has texts.
    pub fn texts(&self) -> Option<Texts<'_>> {
        if let Values::Texts(texts) = self.values() {
            Some(texts)
        } else {
            None
        }
    }

    /// Rows of which the trace does not know the value.
    pub fn nulls(&self) -> usize {
        self.view.nulls as usize
    }
    /// Whether the trace knows the value of this row. Panics where there is no such row.
    pub fn is_known(&self, row: usize) -> bool {
        assert!(row < self.len(), "row {row} of {}", self.len());
        // SAFETY: there is a bit for each row, or none at all.
        self.view.valid.is_null() || unsafe { *self.view.valid.add(row / 8) } >> (row % 8) & 1 == 1
    }
}

impl Drop for Column {
    fn drop(&mut self) {
        // SAFETY: it is freed once, and nothing borrows it any more.
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
