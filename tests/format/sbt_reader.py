# SPDX-License-Identifier: Apache-2.0
"""Reads SBT files; written from docs/sbt.md alone, to prove that it says enough.

Usage: sbt_reader.py FILE TABLE_NUMBER: prints the table's columns (by number) as JSON."""

import ctypes
import ctypes.util
import json
import struct
import sys

XXHASH = ctypes.CDLL(ctypes.util.find_library("xxhash"))
ZSTD = ctypes.CDLL(ctypes.util.find_library("zstd"))
XXHASH.XXH3_64bits_withSeed.restype = ctypes.c_uint64
XXHASH.XXH3_64bits_withSeed.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64)
ZSTD.ZSTD_decompress.restype = ctypes.c_size_t
ZSTD.ZSTD_decompress.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)

MAGIC = bytes.fromhex("895342540d0a1a0a")
SYNC = bytes.fromhex("f753424b")
TABLE, INDEX, END = 1, 2, 3
STRING = 1
FORMATS = {1: "B", 2: "I", 3: "q", 4: "Q", 5: "d"}


def hash64(data, seed=0):
    return XXHASH.XXH3_64bits_withSeed(bytes(data), len(data), seed)


def need(condition, what):
    if not condition:
        raise ValueError(what)


def varints(data, rows):
    values, at = [], 0
    for _ in range(rows):
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
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


def decode(data, element_type, encoding, rows):
    if encoding in (1, 2):
        code = FORMATS[element_type]
        count = rows if encoding == 1 else 1
        values = list(struct.unpack(f"<{count}{code}", data))
        return values if encoding == 1 else values * rows
    words = varints(data, rows)
    if encoding in (4, 5):
        words = [unzigzag(w) for w in words]
    if encoding == 5:
        previous = 0
        for i, difference in enumerate(words):
            previous = (previous + difference) % (1 << 64)
            words[i] = previous
    need(encoding in (3, 4, 5), "a known encoding")
    return [as_type(w % (1 << 64), element_type) for w in words]


class Block:
    def __init__(self, data, offset, tag):
        header = data[offset:offset + 80]
        (sync, self.kind, self.required, self.table, self.sequence, self.rows, self.first_row,
         self.min_time, self.max_time, data_bytes, directory_bytes, reserved, its_tag,
         directory_checksum, checksum) = struct.unpack("<4sBBHIIQqqQIIQQQ", header)
        need(sync == SYNC and its_tag == tag and reserved == 0, "sync marker and tag")
        need(checksum == hash64(header[:72], offset), "header checksum")
        self.bytes = 80 + directory_bytes + data_bytes
        directory = data[offset + 80:offset + 80 + directory_bytes]
        need(directory_checksum == hash64(directory), "directory checksum")
        self.columns = {}
        at = offset + 80 + directory_bytes
        for entry in range(0, directory_bytes, 24):
            column, element_type, encoding, compression, _, encoded, stored, column_checksum = \
                struct.unpack("<HBBB3sIIQ", directory[entry:entry + 24])
            content = data[at:at + stored]
            at += stored
            need(column_checksum == hash64(content), "column checksum")
            if compression == 1:
                out = ctypes.create_string_buffer(encoded)
                need(ZSTD.ZSTD_decompress(out, encoded, content, stored) == encoded, "zstd")
                content = out.raw
            need(len(content) == encoded, "encoded bytes")
            self.columns[column] = content if element_type == 6 else \
                decode(content, element_type, encoding, self.rows)
        need(at == offset + self.bytes, "columns fill the block")


def read(path):
    """{table: {column: [value of each row]}}, strings as table 1, column 2."""
    with open(path, "rb") as file:
        data = file.read()
    need(data[:8] == MAGIC, "magic")
    major, _, header_bytes, flags = struct.unpack_from("<HHIQ", data, 8)
    need(major == 1 and flags >> 32 == 0, "version")
    need(struct.unpack_from("<Q", data, 56)[0] == hash64(data[:56]), "header checksum")
    tag = hash64(data[24:40])
    blocks, offset = [], header_bytes
    while offset < len(data):
        block = Block(data, offset, tag)
        need(block.sequence == len(blocks), "sequence")
        blocks.append((offset, block))
        offset += block.bytes
    tables = {}
    for _, block in blocks:
        if block.kind != TABLE:
            continue
        table = tables.setdefault(block.table, {"rows": 0, "columns": {}})
        need(block.first_row == table["rows"], "first row")
        columns = block.columns
        if block.table == STRING:
            lengths, text, strings, at = columns.get(1, [0] * block.rows), columns.get(2, b""), [], 0
            for length in lengths:
                strings.append(text[at:at + length].decode("utf-8", "replace"))
                at += length
            columns = {2: strings}
        for number in set(table["columns"]) | set(columns):
            have = table["columns"].setdefault(number, [0] * table["rows"])
            have += columns.get(number, [0] * block.rows)
        table["rows"] += block.rows
    check_index(blocks)
    return tables


def check_index(blocks):
    """What index and end marker say is what walking has found."""
    end_offset, end = blocks[-1]
    need(end.kind == END, "an end marker")
    indexes = [(o, b) for o, b in blocks if b.kind == INDEX]
    need(end.rows == len(indexes), "index blocks")
    need(end.first_row == (indexes[0][0] if indexes else end_offset), "offset of the index")
    rows = []
    for _, index in indexes:
        get = lambda c, i=index: i.columns.get(c, [0] * i.rows)
        rows += zip(*(get(c) for c in range(1, 10)))
    found = [(o, b.bytes, b.table, b.rows, b.first_row, b.sequence, b.min_time, b.max_time, b.kind)
             for o, b in blocks if b.kind == TABLE]
    need(rows == found, "the index names every block")


if __name__ == "__main__":
    result = read(sys.argv[1]).get(int(sys.argv[2]), {"rows": 0, "columns": {}})
    json.dump({"rows": result["rows"], "columns": result["columns"]}, sys.stdout)
