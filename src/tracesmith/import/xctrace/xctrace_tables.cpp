// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/xctrace/xctrace_tables.hpp"

#include <expat.h>

#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <unordered_map>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/model/string_table.hpp"

namespace tracesmith::import {
namespace {

constexpr size_t kDeepestElement = 256;
constexpr size_t kMostColumns = 1024;
constexpr size_t kLongestXmlValue = 1u << 20;  // bytes of one value
constexpr uint64_t kMostLeftOut = 16;          // ids that may be missing between two values
constexpr int kPiece = 1 << 16;                // bytes per parser call

std::string_view trimmed(std::string_view text) {
  const auto isSpace = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  while (!text.empty() && isSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && isSpace(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<int64_t> xmlInteger(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::string_view attributeOf(const XML_Char** attributes, std::string_view name) {
  for (size_t i = 0; attributes[i] != nullptr; i += 2) {
    if (name == attributes[i]) return attributes[i + 1];
  }
  return {};
}

}  // namespace

int XctraceSchema::column(std::string_view mnemonic) const {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] == mnemonic) return static_cast<int>(i);
  }
  return -1;
}

class XctraceTables::Reader {
 public:
  Reader(XctraceTables& tables, const OnRow& on_row)
      : tables_(tables), on_row_(on_row), parser_(XML_ParserCreate(nullptr), XML_ParserFree) {
    if (parser_ == nullptr) return;
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(
        parser_.get(),
        [](void* self, const XML_Char* name, const XML_Char** attributes) {
          static_cast<Reader*>(self)->begin(name, attributes);
        },
        [](void* self, const XML_Char* name) { static_cast<Reader*>(self)->end(name); });
    XML_SetCharacterDataHandler(parser_.get(), [](void* self, const XML_Char* text, int length) {
      static_cast<Reader*>(self)->text({text, static_cast<size_t>(length)});
    });
    // xctrace writes no document type, and one could declare entities that expand without bound.
    XML_SetStartDoctypeDeclHandler(
        parser_.get(), [](void* self, const XML_Char*, const XML_Char*, const XML_Char*, int) {
          static_cast<Reader*>(self)->refuse("a document type, which xctrace does not write");
        });
    XML_SetEntityDeclHandler(
        parser_.get(), [](void* self, const XML_Char*, int, const XML_Char*, int, const XML_Char*,
                          const XML_Char*, const XML_Char*, const XML_Char*) {
          static_cast<Reader*>(self)->refuse("an entity, which xctrace does not write");
        });
  }

  Status run(ByteSource& source);

 private:
  /// A value stored for later refs.
  struct Stored {
    int64_t number = 0;
    StringId text{};
    int32_t pid = -1;
    int32_t tid = -1;
    bool is_number = false;
    bool missing = false;
  };
  /// An open element: a value of a row, or part of one.
  struct Element {
    std::string tag;
    uint64_t id = 0;
    bool has_id = false;
    Stored value;
    std::string text;
    std::string shown;  // its fmt attribute
    StringId label{};   // the <string> within it
    bool has_parts = false;
  };

  void begin(std::string_view name, const XML_Char** attributes);
  void end(std::string_view name);
  void text(std::string_view text);
  void refuse(const char* why);
  void stop() {
    stopped_ = true;
    XML_StopParser(parser_.get(), XML_FALSE);
  }
  void remember(uint64_t id, const Stored& value);
  const Stored* known(uint64_t id) const;
  void close();
  void row();

  XctraceTables& tables_;
  const OnRow& on_row_;
  std::unique_ptr<XML_ParserStruct, void (*)(XML_Parser)> parser_;
  std::vector<std::string> path_;
  std::vector<Element> open_;
  std::vector<Stored> row_;
  std::vector<XctraceValue> values_;
  XctraceSchema schema_;
  std::string leaf_;  // text of an element outside of rows
  StringTable texts_;
  std::vector<Stored> by_id_;  // by id; ids start near 0 and increase
  std::unordered_map<uint64_t, Stored> far_ids_;
  bool in_row_ = false;
  bool in_schema_ = false;
  bool any_ = false;
  bool stopped_ = false;
  std::string refused_;
};

void XctraceTables::Reader::refuse(const char* why) {
  refused_ = why;
  stop();
}

void XctraceTables::Reader::remember(uint64_t id, const Stored& value) {
  if (id < by_id_.size()) {
    by_id_[id] = value;
  } else if (id <= by_id_.size() + kMostLeftOut) {
    by_id_.resize(id, Stored{.missing = true});
    by_id_.push_back(value);
  } else {
    far_ids_[id] = value;
  }
}

const XctraceTables::Reader::Stored* XctraceTables::Reader::known(uint64_t id) const {
  if (id < by_id_.size() && !by_id_[id].missing) return &by_id_[id];
  const auto it = far_ids_.find(id);
  return it != far_ids_.end() ? &it->second : nullptr;
}

void XctraceTables::Reader::begin(std::string_view name, const XML_Char** attributes) {
  if (stopped_) return;
  path_.emplace_back(name);
  if (path_.size() > kDeepestElement) return refuse("elements nested too deep");
  leaf_.clear();
  if (name == "trace-query-result" || name == "trace-toc") {
    any_ = true;
    by_id_.clear();
    far_ids_.clear();
    return;
  }
  if (!in_row_) {
    if (name == "schema") {
      in_schema_ = true;
      ++schema_.serial;
      schema_.name = attributeOf(attributes, "name");
      schema_.columns.clear();
    } else if (name == "row") {
      in_row_ = true;
      row_.clear();
    } else if (path_.size() > 2 && name == "process" && tables_.contents_.process.empty()) {
      tables_.contents_.process = attributeOf(attributes, "name");
    } else if (name == "device" && tables_.contents_.device.empty()) {
      tables_.contents_.device = attributeOf(attributes, "name");
    }
    return;
  }
  if (!open_.empty()) open_.back().has_parts = true;
  Element element;
  element.tag = name;
  element.shown = attributeOf(attributes, "fmt");
  const std::string_view ref = attributeOf(attributes, "ref");
  const std::string_view id = attributeOf(attributes, "id");
  if (!ref.empty()) {
    const auto number = xmlInteger(ref);
    const Stored* value = number && *number >= 0 ? known(static_cast<uint64_t>(*number)) : nullptr;
    if (value != nullptr) {
      element.value = *value;
      element.label = value->text;
    } else {
      ++tables_.dangling_;
      element.value.missing = true;
    }
    element.has_parts = true;  // its text is already known
  } else if (const auto number = xmlInteger(id); number && *number >= 0) {
    element.id = static_cast<uint64_t>(*number);
    element.has_id = true;
  }
  if (name == "sentinel") element.value.missing = true;
  open_.push_back(std::move(element));
}

void XctraceTables::Reader::text(std::string_view text) {
  if (stopped_) return;
  std::string& to = open_.empty() ? leaf_ : open_.back().text;
  if (to.size() + text.size() > kLongestXmlValue) {
    if (to.size() < kLongestXmlValue) ++tables_.cut_;
    text = text.substr(0, kLongestXmlValue - to.size());
  }
  to.append(text);
}

/// Ends the innermost element: its value is complete and belongs to the row or to the enclosing
/// element.
void XctraceTables::Reader::close() {
  Element& e = open_.back();
  Stored& v = e.value;
  const std::string_view own = trimmed(e.text);
  if (!own.empty()) {
    if (const auto number = xmlInteger(own)) {
      v.number = *number;
      v.is_number = true;
    }
    v.text = texts_.intern(v.is_number ? std::string_view() : own);
  } else if (v.text == StringId::kNone && !v.is_number) {
    v.text = e.label != StringId::kNone ? e.label : texts_.intern(e.shown);
  }
  if (e.tag == "pid" && v.is_number) v.pid = static_cast<int32_t>(v.number);
  if (e.tag == "tid" && v.is_number) v.tid = static_cast<int32_t>(v.number);
  if (e.has_id) remember(e.id, v);
  const Stored value = v;
  const bool is_label = e.tag == "string";
  open_.pop_back();
  if (open_.empty()) {
    if (row_.size() < kMostColumns) row_.push_back(value);
    return;
  }
  Element& around = open_.back();
  if (value.pid >= 0) around.value.pid = value.pid;
  if (value.tid >= 0) around.value.tid = value.tid;
  if (is_label && around.label == StringId::kNone) around.label = value.text;
}

void XctraceTables::Reader::row() {
  values_.clear();
  for (const Stored& v : row_) {
    values_.push_back({.text = texts_.at(v.text),
                       .number = v.number,
                       .is_number = v.is_number,
                       .missing = v.missing,
                       .pid = v.pid,
                       .tid = v.tid});
  }
  if (!on_row_(schema_, values_)) stop();
}

void XctraceTables::Reader::end(std::string_view name) {
  if (stopped_) return;
  if (!path_.empty()) path_.pop_back();
  if (in_row_) {
    if (!open_.empty()) return close();
    in_row_ = false;
    return row();
  }
  if (name == "schema") {
    in_schema_ = false;
  } else if (in_schema_ && name == "mnemonic") {
    if (schema_.columns.size() < kMostColumns) schema_.columns.emplace_back(trimmed(leaf_));
    ++schema_.serial;
  } else if (name == "start-date" && tables_.contents_.start_date.empty()) {
    tables_.contents_.start_date = trimmed(leaf_);
  } else if (name == "template-name" && tables_.contents_.template_name.empty()) {
    tables_.contents_.template_name = trimmed(leaf_);
  }
  leaf_.clear();
}

Status XctraceTables::Reader::run(ByteSource& source) {
  if (parser_ == nullptr) return fail(ErrorCode::kIo, "there is no memory to read XML");
  bool last = false;
  while (!last && !stopped_) {
    void* const room = XML_GetBuffer(parser_.get(), kPiece);
    if (room == nullptr) return fail(ErrorCode::kIo, "there is no memory to read XML");
    const Result<size_t> n = source.read({static_cast<uint8_t*>(room), kPiece});
    size_t bytes = 0;
    if (n) {
      bytes = *n;
      last = bytes == 0;
    } else {
      tables_.damage_.push_back({tables_.bytes_, 0, n.error().message});
      last = true;
    }
    tables_.bytes_ += bytes;
    if (XML_ParseBuffer(parser_.get(), static_cast<int>(bytes), last) == XML_STATUS_OK) continue;
    if (stopped_) break;
    if (!any_) break;
    const auto at = static_cast<uint64_t>(XML_GetCurrentByteIndex(parser_.get()));
    uint64_t rest = tables_.bytes_ - std::min(at, tables_.bytes_);
    if (!last) rest = source.fileBytes() > at ? source.fileBytes() - at : rest;
    tables_.damage_.push_back({at, rest,
                               std::string("the rest of the XML cannot be read: ") +
                                   XML_ErrorString(XML_GetErrorCode(parser_.get()))});
    break;
  }
  if (!refused_.empty()) return fail(ErrorCode::kDamaged, "has " + refused_);
  if (!any_) return fail(ErrorCode::kNotATrace, "is not an export of xctrace");
  return {};
}

Status XctraceTables::run(ByteSource& source, const OnRow& on_row) {
  Reader reader(*this, on_row);
  return reader.run(source);
}

}  // namespace tracesmith::import
