// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/studio/tiles/item_names.hpp"

namespace tracesmith::studio {
namespace {

// Far above any StringId: 8 bits of table, 8 bits of kind.
constexpr NameId kKinds = 0xffff'0000;

NameId kindId(TableId table, uint8_t kind) {
  return kKinds | static_cast<NameId>(table) << 8 | kind;
}

}  // namespace

ItemNames::ItemNames(const Trace& trace)
    : trace_(trace), labels_(trace), is_kernel_(trace.strings.size() + 1, false) {
  for (const StringId name : trace.kernel.name) {
    const auto id = static_cast<size_t>(name);
    if (id < is_kernel_.size()) is_kernel_[id] = true;
  }
}

NameId ItemNames::of(const DeviceSpan& item) const {
  switch (item.table) {
    case TableId::kKernel:
      return static_cast<NameId>(trace_.kernel.name[item.row]);
    case TableId::kHostCall:
      return static_cast<NameId>(trace_.host_call.name[item.row]);
    case TableId::kRange:
      return static_cast<NameId>(trace_.range.name[item.row]);
    case TableId::kCopy:
      return kindId(item.table, static_cast<uint8_t>(trace_.copy.kind[item.row]));
    case TableId::kSync:
      return kindId(item.table, static_cast<uint8_t>(trace_.sync.kind[item.row]));
    default:
      return kindId(item.table, 0);
  }
}

std::string_view ItemNames::full(NameId id) const {
  if (id < kKinds) return trace_.text(StringId{id});
  const auto kind = static_cast<uint8_t>(id & 0xff);
  switch (static_cast<TableId>(id >> 8 & 0xff)) {
    case TableId::kCopy:
      return toString(static_cast<CopyKind>(kind));
    case TableId::kSync:
      return toString(static_cast<SyncKind>(kind));
    case TableId::kFill:
      return "fill";
    default:
      return {};
  }
}

std::string_view ItemNames::label(NameId id) const {
  const std::string_view text = full(id);
  return id < is_kernel_.size() && is_kernel_[id] ? labels_.label(text) : text;
}

}  // namespace tracesmith::studio
