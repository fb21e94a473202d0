// SPDX-License-Identifier: Apache-2.0
// The tables that `xctrace export` writes as XML, row by row:
//
//   <trace-query-result>
//     <node xpath="…"><schema name="metal-gpu-intervals"><col><mnemonic>start</mnemonic>…</col>…
//       <row><start-time id="1" fmt="00:00.100">100000000</start-time><duration ref="2"/>…</row>
//
// A row has one element for each column, in their order. Every value stands in the document once,
// with an id; afterwards it is a ref, wherever it stood first: also within another value. Several
// documents may lie in one file, below an element of any name: ids are those of a document.
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

/// A value of a row; views live as long as the call that gives the row.
struct XctraceValue {
  std::string_view text;  ///< what stands in it, or in its <string>, or how it is shown
  int64_t number = 0;
  bool is_number = false;  ///< an integer
  bool missing = false;    ///< a sentinel, or a ref to nothing
  int64_t pid = -1;        ///< of the process that it is, or that is within it
  int64_t tid = -1;
};

struct XctraceSchema {
  std::string name;
  std::vector<std::string> columns;  ///< mnemonics
  uint64_t serial = 0;               ///< of another schema another, while the tables are read

  /// -1: it has no such column.
  int column(std::string_view mnemonic) const;
};

/// What a table of contents (`--toc`) says.
struct XctraceContents {
  std::string start_date;  ///< of the first run, ISO 8601
  std::string device, process, template_name;
};

class XctraceTables {
 public:
  using OnRow = std::function<bool(const XctraceSchema&, std::span<const XctraceValue>)>;

  /// Gives every row, until `on_row` says false. Error: it is no XML of xctrace, or has entities.
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
