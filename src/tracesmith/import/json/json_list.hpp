// SPDX-License-Identifier: Apache-2.0
// Reads the elements of one list of a JSON document, one by one. The document may be larger than
// memory:
//
//   {"schema": "1.0.1", …, "nodes": [{…}, {…}, …], "finish_ts": 69840401}
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tracesmith/import/common/byte_source.hpp"
#include "tracesmith/import/common/importer.hpp"

namespace tracesmith::import {

class JsonList {
 public:
  /// Called for each member other than the list, with its JSON text.
  using OnMember = std::function<void(std::string_view name, std::string_view raw)>;
  /// Called for each object of the list with its JSON text; return false to stop.
  using OnElement = std::function<bool(std::string_view raw, uint64_t offset)>;

  /// `names`: possible names of the list; the first member with one of them is used.
  JsonList(ByteSource& source, std::initializer_list<std::string_view> names)
      : source_(source), names_(names) {}

  /// Reading stops at damage, because the next element cannot be located reliably.
  void run(const OnMember& on_member, const OnElement& on_element);
  bool found() const { return found_; }
  uint64_t bytes() const { return offset_ + at_; }
  std::vector<SourceDamage> damage;

 private:
  int peek();
  bool fill();
  bool skipSpace();
  /// The value at the cursor; empty if it does not end. Keeps the buffer content before the cursor.
  std::string_view value();
  void cut(const char* where);

  ByteSource& source_;
  std::vector<std::string_view> names_;
  std::vector<char> buffer_;
  size_t begin_ = 0;  // start of the current value in buffer_
  size_t at_ = 0;
  size_t end_ = 0;
  uint64_t offset_ = 0;  // position of buffer_[0] in the document
  bool eof_ = false;
  bool found_ = false;
};

}  // namespace tracesmith::import
