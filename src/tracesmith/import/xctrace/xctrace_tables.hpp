// SPDX-License-Identifier: Apache-2.0
// Reads the tables that `xctrace export` writes as XML, row by row:
//
//   <trace-query-result>
//     <node xpath="…"><schema name="metal-gpu-intervals"><col><mnemonic>start</mnemonic>…</col>…
//       <row><start-time id="1" fmt="00:00.100">100000000</start-time><duration ref="2"/>…</row>
//
// A row has one element per column, in column order. Each value is written in full once, with an
// id; later uses are a ref, even if the value first appeared inside another one. A file may hold
// several documents below an element of any name; ids are unique within one document.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/import/common/byte_source.hpp"
#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

/// A value of a row. Views are valid during the OnRow call.
struct XctraceValue {
  std::string_view text;  ///< its content, or that of its <string>, or its display form
  int64_t number = 0;
  bool is_number = false;  ///< `number` is valid
  bool missing = false;    ///< a sentinel, or a dangling ref
  int64_t pid = -1;        ///< if the value is, or contains, a process
  int64_t tid = -1;
};

struct XctraceSchema {
  std::string name;
  std::vector<std::string> columns;  ///< their mnemonics
  uint64_t serial = 0;               ///< different for each schema of a run()

  /// Index of the column; -1: there is none.
  int column(std::string_view mnemonic) const;
};

/// Content of a table of contents (`--toc`).
struct XctraceContents {
  std::string start_date;  ///< ISO 8601, of the first run
  std::string device, process, template_name;
};

class XctraceTables {
 public:
  using OnRow = std::function<bool(const XctraceSchema&, std::span<const XctraceValue>)>;

  /// Passes every row to `on_row`, until that returns false. Error: the source is not XML of
  /// xctrace, or has entities.
  Status run(ByteSource& source, const OnRow& on_row);

  const std::vector<SourceDamage>& damage() const { return damage_; }
  const XctraceContents& contents() const { return contents_; }
  uint64_t bytes() const { return bytes_; }
  uint64_t danglingRefs() const { return dangling_; }
  uint64_t cutTexts() const { return cut_; }

 private:
  class Reader;
  std::vector<SourceDamage> damage_;
  XctraceContents contents_;
  uint64_t bytes_ = 0;
  uint64_t dangling_ = 0;
  uint64_t cut_ = 0;
};

}  // namespace tracesmith::import
