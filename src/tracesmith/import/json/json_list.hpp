// SPDX-License-Identifier: Apache-2.0
// The elements of one list of a JSON document, one after another; the document may be larger than
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
  /// A member beside the list, as it stands in the document.
  using OnMember = std::function<void(std::string_view name, std::string_view raw)>;
  /// An object of the list, as it stands; false: it is enough.
  using OnElement = std::function<bool(std::string_view raw, uint64_t offset)>;

  /// `names`: of the list; the first member with one of them counts.
  JsonList(ByteSource& source, std::initializer_list<std::string_view> names)
      : source_(source), names_(names) {}

  /// What is damaged ends the reading: there is no telling where a list goes on.
  void run(const OnMember& on_member, const OnElement& on_element);
  bool found() const { return found_; }
  uint64_t bytes() const { return offset_ + at_; }
  std::vector<SourceDamage> damage;

 private:
  int peek();
  bool fill();
  bool skipSpace();
  /// The value at the cursor, without moving what is before it away; empty: it does not end.
  std::string_view value();
  void cut(const char* where);

  ByteSource& source_;
  std::vector<std::string_view> names_;
  std::vector<char> buffer_;
  size_t begin_ = 0;  // of the value that is being read
  size_t at_ = 0;
  size_t end_ = 0;
  uint64_t offset_ = 0;  // in the document, of the buffer's first byte
  bool eof_ = false;
  bool found_ = false;
};

}  // namespace tracesmith::import
