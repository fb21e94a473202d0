// SPDX-License-Identifier: Apache-2.0
// The interface of importers. There is one per format, selected by file content, not by file
// name (but an Nsight Systems report, which nsys has to convert, is known by its name only).
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

/// A range of the (unpacked) source that could not be used unchanged.
struct SourceDamage {
  uint64_t offset = 0;
  uint64_t bytes = 0;  ///< skipped; 0: repaired, or not a range of bytes
  std::string reason;
  uint64_t places = 1;  ///< above 1: several places that are not listed individually
  std::optional<uint64_t> events = std::nullopt;  ///< lost; nullopt: unknown
};

/// What an import read, and what it could not use.
struct ImportCounts {
  uint64_t events = 0;    ///< in the source
  uint64_t rows = 0;      ///< events that became rows of the trace's tables
  uint64_t metadata = 0;  ///< names and sort orders of processes and threads
  uint64_t others = 0;    ///< events of unknown kind or without a time: kept, but without rows
  uint64_t bytes = 0;     ///< size of the source, unpacked
  std::vector<SourceDamage> damage;
  std::vector<std::string> notes;  ///< other remarks for the user; nothing was lost by these

  /// A row of `loss` without its texts. If the number of lost events is unknown, so is `emitted`
  /// (0).
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

/// Options that the user may give besides the file.
struct ImportOptions {
  std::string binary;  ///< the program that wrote the trace, for formats that take names from it
  std::vector<std::string> more;  ///< further files of the same run (Importer::several)
};

/// The file to import.
struct ImportInput {
  std::string path;   ///< as shown in messages
  std::string place;  ///< path to open: that of the copy for a stream, else `path`
  std::string head;   ///< its first bytes, unpacked: up to kHeadBytes
  ImportOptions options;
  static constexpr size_t kHeadBytes = 64u << 10;

  static Result<ImportInput> open(const std::string& path) { return open(path, path); }
  static Result<ImportInput> open(const std::string& path, const std::string& place);
  /// The unpacked content, from the start.
  Result<std::unique_ptr<ByteSource>> bytes() const { return ByteSource::open(place, path); }
};

struct Importer {
  std::string_view format;  ///< for people: "Chrome JSON"
  /// Not empty if no real file of the format was available for testing: says what was used instead.
  std::string_view experimental;
  bool (*recognises)(const ImportInput& input);
  /// Appends everything to `writer`, after the content of `facts`. Does not finish `writer`. Error:
  /// the file is not of this format after all, or reading or writing failed. Damage is not an
  /// error.
  Result<ImportCounts> (*run)(const ImportInput& input, TraceWriter& writer, Trace facts);
  bool several = false;       ///< uses ImportOptions::more
  bool takes_binary = false;  ///< uses ImportOptions::binary
};

/// All importers. The first one that recognises a file imports it.
std::span<const Importer> importers();

}  // namespace tracesmith::import
