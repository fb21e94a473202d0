// SPDX-License-Identifier: Apache-2.0
// What an importer is: one for each format, found by what a file holds and never by its name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/format/trace_writer.hpp"
#include "tracesmith/import/common/byte_source.hpp"

namespace tracesmith::import {

/// A stretch of the (unpacked) source that could not be used as it was.
struct SourceDamage {
  uint64_t offset = 0;
  uint64_t bytes = 0;  ///< passed over; 0: mended, or no place in the bytes
  std::string reason;
  uint64_t places = 1;  ///< more of what is too many to be listed one by one
  std::optional<uint64_t> events = std::nullopt;  ///< that it cost; none: nobody knows
};

/// What has come in, and what has not.
struct ImportCounts {
  uint64_t events = 0;    ///< of the source
  uint64_t rows = 0;      ///< events that became rows of the trace's tables
  uint64_t metadata = 0;  ///< names and orders of processes and threads
  uint64_t others = 0;    ///< events of no known kind, or without a time: kept as they are, no rows
  uint64_t bytes = 0;     ///< of the source, unpacked
  std::vector<SourceDamage> damage;
  std::vector<std::string> notes;  ///< what else a person should know; nothing was lost by it

  /// A row of `loss` without its texts. What is not known of the damage makes emitted unknown.
  LossRow loss() const {
    LossRow row{.id = LossId{1}, .emitted = events, .written = events};
    bool known = true;
    for (const SourceDamage& d : damage) {
      known = known && d.events.has_value();
      row.dropped += d.events.value_or(0);
    }
    row.emitted = known ? row.written + row.dropped : 0;
    return row;
  }
};

/// What a person may say besides the file.
struct ImportOptions {
  std::string binary;             ///< the program that wrote it, where names come from there
  std::vector<std::string> more;  ///< further files of the same run, for Importer::several
};

/// The file that is imported.
struct ImportInput {
  std::string path;   ///< as people call it
  std::string place;  ///< to open it by: of a stream that of its copy, else the path
  std::string head;   ///< its first bytes, unpacked: up to kHeadBytes
  ImportOptions options;
  static constexpr size_t kHeadBytes = 64u << 10;

  static Result<ImportInput> open(const std::string& path) { return open(path, path); }
  static Result<ImportInput> open(const std::string& path, const std::string& place);
  /// All of it, unpacked, from the beginning.
  Result<std::unique_ptr<ByteSource>> bytes() const { return ByteSource::open(place, path); }
};

struct Importer {
  std::string_view format;  ///< for people: "Chrome JSON"
  /// Not empty: no real file of the format could be had to test it with, and what was instead.
  std::string_view experimental;
  bool (*recognises)(const ImportInput& input);
  /// Appends everything to `writer`, which is left unfinished, behind what `facts` has already.
  /// Error: it is not what it looked like, or reading or writing failed; damage is no error.
  Result<ImportCounts> (*run)(const ImportInput& input, TraceWriter& writer, Trace facts);
  bool several = false;       ///< it takes ImportOptions::more
  bool takes_binary = false;  ///< it takes ImportOptions::binary
};

/// All of them. The first one that recognises a file gets it.
std::span<const Importer> importers();

}  // namespace tracesmith::import
