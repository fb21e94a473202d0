// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/recorded_stacks.hpp"

#include <fmt/format.h>

#include "tracesmith/capture/arena_file.hpp"
#include "tracesmith/capture/arena_layout.hpp"

namespace tracesmith {

using stacks::FrameWordKind;
using stacks::WalkEnd;

namespace {

/// The name of what stands for callers that are not known.
std::string_view nameOf(WalkEnd end) {
  switch (end) {
    case WalkEnd::kTooDeep:
      return "[more callers]";
    case WalkEnd::kNoInformation:
      return "[no unwind information]";
    default:
      return "[broken stack]";
  }
}

}  // namespace

SharedStacks::FrameKey SharedStacks::keyOf(const FrameRow& row) {
  const bool in_module = row.module != StringId::kNone;
  return {row.module, row.build_id, row.function, in_module ? row.module_offset : row.address,
          row.flags,  row.line};
}

FrameId SharedStacks::frame(const FrameRow& row, Trace& delta) {
  const auto [it, is_new] = frames_.try_emplace(keyOf(row), idAt<FrameId>(frames_.size()));
  if (is_new) delta.frame.push(row);
  return it->second;
}

CallPathId SharedStacks::path(CallPathId parent, FrameId frame, Trace& delta) {
  const auto [it, is_new] = paths_.try_emplace({parent, frame}, idAt<CallPathId>(paths_.size()));
  if (is_new) delta.call_path.push({.parent = parent, .frame = frame});
  return it->second;
}

void SharedStacks::restore(const Trace& file) {
  for (size_t i = 0; i < file.frame.size(); ++i) {
    frames_.try_emplace(keyOf(file.frame.row(i)), idAt<FrameId>(i));
  }
  for (size_t i = 0; i < file.call_path.size(); ++i) {
    const CallPathRow row = file.call_path.row(i);
    paths_.try_emplace({row.parent, row.frame}, idAt<CallPathId>(i));
  }
}

FrameRow RecordedStacks::frameOf(uint64_t word) {
  FrameRow row;
  if ((word & stacks::kOtherFrame) != 0) {
    const auto end = static_cast<WalkEnd>(word & stacks::kFrameAddressMask);
    row.function = delta_.strings.intern(nameOf(end));
    row.flags = frame_flags::kTruncatedBelow;
    return row;
  }
  row.address = word & stacks::kFrameAddressMask;
  if ((word & stacks::kExactFrame) != 0) row.flags |= frame_flags::kExact;
  if ((word & stacks::kGuessedFrame) != 0) row.flags |= frame_flags::kGuessed;
  auto module = modules_.upper_bound(row.address);
  if (module == modules_.begin()) return row;
  --module;
  // A call may be the last thing in a module: what is looked up is the byte before.
  const bool exact = (row.flags & frame_flags::kExact) != 0;
  if (row.address - (exact ? 0 : 1) >= module->second.end_address) return row;
  row.module = module->second.path;
  row.build_id = module->second.build_id;
  row.module_offset = row.address - module->second.bias;
  return row;
}

bool RecordedStacks::addPaths(ByteView record) {
  arena::PathRecord r;
  if (!takePart(record, r) || r.count == 0 || record.size() / 8 < r.count) return false;
  const auto parent = paths_.find(r.parent);
  if (r.parent != 0 && parent == paths_.end()) return false;
  Path path = r.parent == 0 ? Path{} : parent->second;
  for (uint32_t i = 0; i < r.count; ++i) {
    const auto word = loadFixed<uint64_t>(record.data() + 8 * size_t{i});
    if ((word & stacks::kOtherFrame) != 0) {
      if (stacks::kindOf(word) != FrameWordKind::kCut) return false;
      path.end = static_cast<WalkEnd>(word & 3);
    }
    path.id = shared_.path(path.id, shared_.frame(frameOf(word), delta_), delta_);
    const uint32_t number = r.header.aux + i;
    paths_[number] = path;
    delta_.object.push({.process_id = process_,
                        .kind = ObjectKind::kCallPath,
                        .handle = number,
                        .bytes = static_cast<uint64_t>(path.end),
                        .id = static_cast<uint32_t>(path.id)});
  }
  return true;
}

bool RecordedStacks::addModule(ByteView record) {
  arena::ModuleRecord r;
  if (!takePart(record, r) || record.size() < uint64_t{r.id_bytes} + r.path_bytes) return false;
  std::string id;
  for (const uint8_t byte : record.subspan(0, r.id_bytes)) id += fmt::format("{:02x}", byte);
  StringTable& strings = delta_.strings;
  const ModuleRow row{.process_id = process_,
                      .begin_address = r.begin,
                      .end_address = r.end,
                      .bias = r.bias,
                      .path = strings.intern(asText(record.subspan(r.id_bytes, r.path_bytes))),
                      .build_id = id.empty() ? StringId::kNone : strings.intern(id)};
  // Threads tell of it one by one.
  const auto known = modules_.find(r.begin);
  if (known != modules_.end() && known->second.end_address == row.end_address &&
      known->second.path == row.path && known->second.build_id == row.build_id) {
    return true;
  }
  modules_[r.begin] = row;
  delta_.module.push(row);
  return true;
}

CallPathId RecordedStacks::path(uint32_t number) const {
  const auto it = paths_.find(number);
  return it == paths_.end() ? CallPathId::kNone : it->second.id;
}

CallPathId RecordedStacks::ofCall(uint32_t number) {
  ++totals_.calls;
  const auto it = paths_.find(number);
  if (it == paths_.end()) {
    ++totals_.without;
    return CallPathId::kNone;
  }
  switch (it->second.end) {
    case WalkEnd::kOutermost:
      break;
    case WalkEnd::kTooDeep:
      ++totals_.too_deep;
      break;
    case WalkEnd::kNoInformation:
      ++totals_.no_information;
      break;
    case WalkEnd::kBroken:
      ++totals_.broken;
      break;
  }
  return it->second.id;
}

void RecordedStacks::restorePath(const ObjectRow& row) {
  paths_[static_cast<uint32_t>(row.handle)] = {static_cast<CallPathId>(row.id),
                                               static_cast<WalkEnd>(row.bytes & 3)};
}

}  // namespace tracesmith
