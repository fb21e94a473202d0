# SPDX-License-Identifier: Apache-2.0
"""Reads SBT files; written from docs/sbt.md alone, to prove that it says enough.

Usage: sbt_reader.py FILE prints the rows of each table, then table 33 (kernel) as CSV."""

import csv
import ctypes
import struct
import sys

XXHASH = ctypes.CDLL("libxxhash.so.0")
ZSTD = ctypes.CDLL("libzstd.so.1")
XXHASH.XXH3_64bits_withSeed.restype = ctypes.c_uint64
XXHASH.XXH3_64bits_withSeed.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64)
ZSTD.ZSTD_decompress.restype = ctypes.c_size_t
ZSTD.ZSTD_decompress.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)

MAGIC = bytes.fromhex("895342540d0a1a0a")
SYNC = bytes.fromhex("f753424b")
TABLE, INDEX, END = 1, 2, 3
STRING, KERNEL = 1, 33
DICTIONARIES = {1, 8, 9, 10, 13}
FORMATS = {1: "B", 2: "I", 3: "q", 4: "Q", 5: "d"}
BYTES = 6
MAX_ROWS, MAX_DIRECTORY, MAX_COLUMN, MAX_HEADER, MAX_BASES = 1 << 20, 65536, 64 << 20, 4096, 4


class Damaged(ValueError):
    """What does not verify."""


def hash64(data, seed=0):
    return XXHASH.XXH3_64bits_withSeed(bytes(data), len(data), seed)


def need(condition, what):
    if not condition:
        raise Damaged(what)


def varints(data, rows):
    values, at = [], 0
    for _ in range(rows):
        value = shift = 0
        while True:
            need(at < len(data) and shift < 70, "a varint is whole")
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        need(value < 1 << 64, "a varint has 64 bits")
        values.append(value)
    need(at == len(data), "varints end with the column")
    return values


def unzigzag(value):
    return (value >> 1) ^ -(value & 1)


def as_type(word, element_type):
    if element_type == 5:
        return struct.unpack("<d", struct.pack("<Q", word))[0]
    if element_type == 3 and word >= 1 << 63:
        return word - (1 << 64)
    return word


def planes(data, rows):
    need(data and data[0] <= 8 and len(data) == 1 + data[0] * rows, "planes fill the column")
    return [sum(data[1 + k * rows + i] << 8 * k for k in range(data[0])) for i in range(rows)]


def packed(data, rows):
    words, at = [], 0
    while len(words) < rows:
        count = min(128, rows - len(words))
        end = at
        while end < len(data) and data[end] >= 0x80:
            end += 1
        smallest = varints(data[at:end + 1], 1)[0]
        need(end + 1 < len(data) and data[end + 1] <= 64, "a width")
        width = data[end + 1]
        at = end + 2 + (count * width + 7) // 8
        need(at <= len(data), "packed bits are whole")
        bits = int.from_bytes(data[end + 2:at], "little")
        words += [smallest + (bits >> width * i & (1 << width) - 1) for i in range(count)]
    need(at == len(data), "packed bits end with the column")
    return words


def differences(data, rows, base):
    """Encoding 7, where base is all 0, and 8."""
    end = 0
    while end < len(data) and data[end] >= 0x80:
        end += 1
    words = [unzigzag(varints(data[:end + 1], 1)[0])]
    for i, difference in enumerate(planes(data[end + 1:], rows - 1)):
        words.append(words[i] + base[i] + unzigzag(difference))
    return words


def decode(data, element_type, encoding, rows, base):
    """base: the words of the column that the encoding refers to."""
    if encoding in (6, 7, 8, 9, 10):
        if encoding == 6:
            words = planes(data, rows)
        elif encoding in (7, 8):
            words = differences(data, rows, base if encoding == 8 else [0] * rows)
        else:
            words = packed(data, rows)
        if encoding == 10:
            words, grouped = [0] * rows, words
            for place, row in enumerate(sorted(range(rows), key=lambda row: base[row])):
                words[row] = grouped[place]
        return [as_type(w % (1 << 64), element_type) for w in words]
    if encoding in (1, 2):
        count = rows if encoding == 1 else 1
        layout = f"<{count}{FORMATS[element_type]}"
        need(struct.calcsize(layout) == len(data), "elements fill the column")
        values = list(struct.unpack(layout, data))
        return values if encoding == 1 else values * rows
    need(encoding in (3, 4, 5), "a known encoding")
    words = varints(data, rows)
    if encoding in (4, 5):
        words = [unzigzag(w) for w in words]
    if encoding == 5:
        previous = 0
        for i, difference in enumerate(words):
            previous = (previous + difference) % (1 << 64)
            words[i] = previous
    return [as_type(w % (1 << 64), element_type) for w in words]


class Block:
    """A block's header; `tag` is None where the file's header is damaged."""

    def __init__(self, data, offset, tag):
        header = data[offset:offset + 80]
        need(len(header) == 80 and header[:4] == SYNC, "sync marker")
        (_, self.kind, self.required, self.table, self.sequence, self.first_row, self.min_time,
         self.max_time, self.data_bytes, self.directory_bytes, self.rows, self.tag,
         self.directory_checksum, checksum) = struct.unpack("<4sBBHQQqqQIIQQQ", header)
        need(checksum == hash64(header[:72], offset), "header checksum")
        need(tag is None or self.tag == tag, "tag")
        need(self.rows <= MAX_ROWS and self.directory_bytes <= MAX_DIRECTORY, "limits")
        self.offset = offset
        self.bytes = 80 + self.directory_bytes + self.data_bytes

    def columns(self, data):
        """{column number: its values, or its bytes}. Raises Damaged for any that does not verify."""
        directory = data[self.offset + 80:self.offset + 80 + self.directory_bytes]
        need(self.directory_checksum == hash64(directory), "directory checksum")
        encodings = {}
        at = self.offset + 80 + self.directory_bytes
        for entry in range(0, self.directory_bytes, 24):
            number, element_type, encoding, compression, _, base, encoded, stored, checksum = \
                struct.unpack("<HBBBBHIIQ", directory[entry:entry + 24])
            content = data[at:at + stored]
            at += stored
            need(checksum == hash64(content), "column checksum")
            need(encoded <= MAX_COLUMN and compression in (0, 1), "limits")
            if compression == 1:
                out = ctypes.create_string_buffer(encoded)
                need(ZSTD.ZSTD_decompress(out, encoded, content, stored) == encoded, "zstd")
                content = out.raw
            need(len(content) == encoded, "encoded bytes")
            encodings[number] = (content, element_type, encoding, base)
        need(at == self.offset + self.bytes, "columns fill the block")
        return {number: self.values(encodings, number, 0) for number in encodings}

    def values(self, encodings, number, depth):
        need(depth <= MAX_BASES, "columns do not refer to each other in a circle")
        if number not in encodings:
            return [0] * self.rows
        content, element_type, encoding, base_number = encodings[number]
        if element_type == BYTES:
            return content
        base = []
        if encoding in (8, 10):
            base = [w % (1 << 64) for w in self.values(encodings, base_number, depth + 1)]
        return decode(content, element_type, encoding, self.rows, base)


class Trace:
    """Walks the blocks of `data` as a reader without an index does.

    tables: {number: {column: [value of each row]}}, the strings as table 1, column 2.
    rows:   {number: rows that were read, with those that lost ones of a dictionary leave empty}
    losses: what did not verify, as (offset, reason); cut: bytes of an unfinished last block."""

    def __init__(self, data):
        self.data, self.tables, self.rows, self.losses, self.cut = data, {}, {}, [], 0
        need(data[:8] == MAGIC, "magic")
        need(len(data) >= 64, "a whole header")
        major, self.minor, header_bytes, flags = struct.unpack_from("<HHIQ", data, 8)
        self.tag = None
        if struct.unpack_from("<Q", data, 56)[0] == hash64(data[:56]):
            need(major == 1 and flags >> 32 == 0, "a version that this reader knows")
            need(64 <= header_bytes <= MAX_HEADER, "header bytes")
            self.tag = hash64(data[24:40])
        else:
            self.losses.append((0, "file header"))
            header_bytes = 64
        self.blocks = []
        self.walk(header_bytes)
        for block in self.blocks:
            if block.kind == TABLE and block.required == 0:
                self.append(block)

    @property
    def complete(self):
        return any(block.kind == END for block in self.blocks)

    def block_at(self, offset):
        try:
            return Block(self.data, offset, self.tag)
        except Damaged:
            return None

    def walk(self, offset):
        while offset < len(self.data):
            block = self.block_at(offset)
            if block and block.bytes > len(self.data) - offset:
                self.cut = len(self.data) - offset
                return
            if block:
                self.tag = block.tag
                self.blocks.append(block)
                offset += block.bytes
                continue
            rest = self.data[offset:]
            if len(rest) < 80 and rest[:4] == SYNC[:len(rest)]:
                self.cut = len(rest)
                return
            self.losses.append((offset, "not a block"))
            offset = self.data.find(SYNC, offset + 1)
            while offset >= 0 and not self.block_at(offset):
                offset = self.data.find(SYNC, offset + 1)
            if offset < 0:
                return

    def append(self, block):
        try:
            columns = block.columns(self.data)
        except Damaged as problem:
            # Stricter than the norm asks: a block with one lost column is lost as a whole.
            self.losses.append((block.offset, str(problem)))
            return
        rows = block.rows
        if block.table == STRING:
            lengths, text, strings, at = columns.get(1, [0] * rows), columns.get(2, b""), [], 0
            for length in lengths:
                strings.append(text[at:at + length].decode("utf-8", "replace"))
                at += length
            columns = {2: strings}
        table = self.tables.setdefault(block.table, {})
        before = self.rows.setdefault(block.table, 0)
        lost = block.first_row - before if block.table in DICTIONARIES else 0
        for number in set(table) | set(columns):
            zero = "" if block.table == STRING else 0
            have = table.setdefault(number, [zero] * before)
            have += [zero] * lost + columns.get(number, [zero] * rows)
        self.rows[block.table] = before + lost + rows

    def column(self, table, number):
        return self.tables.get(table, {}).get(number, [0] * self.rows.get(table, 0))

    def text(self, string_id):
        strings = self.column(STRING, 2)
        return strings[string_id - 1] if 0 < string_id <= len(strings) else ""

    def check_index(self):
        """What index and end marker say is what walking has found."""
        end = self.blocks[-1]
        need(end.kind == END and end.offset + 80 == len(self.data), "an end marker")
        indexes = [b for b in self.blocks if b.kind == INDEX]
        need(end.rows == len(indexes), "index blocks")
        need(end.first_row == (indexes[0].offset if indexes else end.offset), "offset of the index")
        rows = []
        for index in indexes:
            columns = index.columns(self.data)
            rows += zip(*(columns.get(c, [0] * index.rows) for c in range(1, 12)))
        found = [(b.offset, b.bytes, b.table, b.rows, b.first_row, b.sequence, b.min_time,
                  b.max_time, b.kind, b.directory_bytes, b.required)
                 for b in self.blocks if b.kind not in (INDEX, END)]
        need(rows == found, "the index names every block")
        self.kernel_names = None  # the hint of the index, if it has one
        hint = indexes[0].columns(self.data).get(65280) if indexes else None
        if hint is not None:
            self.kernel_names, name = [], 0
            for step in varints(hint, sum(byte < 0x80 for byte in hint)):
                name += step
                self.kernel_names.append(name)
            need(self.kernel_names == sorted(set(self.column(KERNEL, 3))),
                 "the index has the names of all kernels")


def read(path):
    with open(path, "rb") as file:
        return Trace(file.read())


def main():
    trace = read(sys.argv[1])
    for table, rows in sorted(trace.rows.items()):
        print(f"table {table}: {rows} rows")
    for offset, reason in trace.losses:
        print(f"lost at {offset}: {reason}")
    numbers = sorted(trace.tables.get(KERNEL, {}))
    out = csv.writer(sys.stdout)
    out.writerow(numbers)
    out.writerows(zip(*(trace.column(KERNEL, number) for number in numbers)))


if __name__ == "__main__":
    main()
