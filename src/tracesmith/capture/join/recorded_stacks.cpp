// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/join/recorded_stacks.hpp"

#include <fmt/format.h>

#include "tracesmith/capture/agent_files/arena_file.hpp"
#include "tracesmith/capture/join/vendor_frames.hpp"
#include "tracesmith/capture/protocol/arena_layout.hpp"
#include "tracesmith/capture/system/sampled_paths.hpp"
#include "tracesmith/stacks/python/merge_python.hpp"
#include "tracesmith/stacks/python/python_lines.hpp"

namespace tracesmith {

using stacks::FrameWordKind;
using stacks::WalkEnd;

namespace {

bool isMerge(uint64_t word) {
  return (word & stacks::kOtherFrame) != 0 && stacks::kindOf(word) == FrameWordKind::kMerge;
}

}  // namespace

SharedStacks::FrameKey SharedStacks::keyOf(const FrameRow& row) {
  const bool in_module = row.module != StringId::kNone;
  return {row.module, row.build_id, row.function, in_module ? row.module_offset : row.address,
          row.flags,  row.file,     row.line};
}

FrameId SharedStacks::frame(const FrameRow& row, Trace& delta) {
  const auto [it, is_new] = frames_.try_emplace(keyOf(row), idAt<FrameId>(frames_.size()));
  if (is_new) {
    delta.frame.push(row);
    vendors_.push_back(isVendorModule(delta.strings.at(row.module)));
  }
  return it->second;
}

CallPathId SharedStacks::path(CallPathId parent, FrameId frame, Trace& delta) {
  const auto [it, is_new] = paths_.try_emplace({parent, frame}, idAt<CallPathId>(paths_.size()));
  if (is_new) {
    delta.call_path.push({.parent = parent, .frame = frame});
    path_rows_.emplace_back(parent, frame);
  }
  return it->second;
}

CallPathId SharedStacks::withoutVendorFrames(CallPathId path) const {
  for (CallPathId at = path; at != CallPathId::kNone && indexOf(at) < path_rows_.size();) {
    const auto [parent, frame] = path_rows_[indexOf(at)];
    if (frame == FrameId::kNone || indexOf(frame) >= vendors_.size()) break;
    if (!vendors_[indexOf(frame)]) return at;
    if (parent >= at) break;  // a path comes after its parent
    at = parent;
  }
  return path;
}

void SharedStacks::restore(const Trace& file) {
  for (size_t i = 0; i < file.frame.size(); ++i) {
    frames_.try_emplace(keyOf(file.frame.row(i)), idAt<FrameId>(i));
    vendors_.push_back(isVendorModule(file.text(file.frame.module[i])));
  }
  for (size_t i = 0; i < file.call_path.size(); ++i) {
    const CallPathRow row = file.call_path.row(i);
    paths_.try_emplace({row.parent, row.frame}, idAt<CallPathId>(i));
    path_rows_.emplace_back(row.parent, row.frame);
  }
}

FrameRow RecordedStacks::frameOf(uint64_t word) {
  FrameRow row;
  if ((word & stacks::kOtherFrame) != 0 && stacks::kindOf(word) == FrameWordKind::kPython) {
    return pythonFrameOf(word);
  }
  if ((word & stacks::kOtherFrame) != 0) {
    const auto end = static_cast<WalkEnd>(word & stacks::kFrameAddressMask);
    row.function = delta_.strings.intern(nameOfCut(end));
    row.flags = frame_flags::kTruncatedBelow;
    return row;
  }
  row.address = word & stacks::kFrameAddressMask;
  if ((word & stacks::kExactFrame) != 0) row.flags |= frame_flags::kExact;
  if ((word & stacks::kGuessedFrame) != 0) row.flags |= frame_flags::kGuessed;
  auto module = modules_.upper_bound(row.address);
  if (module == modules_.begin()) return row;
  --module;
  // A call may be the last instruction of a module, so look up the byte before the return address.
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
  uint32_t parent = r.parent;
  for (uint32_t i = 0; i < r.count; ++i) {
    const uint32_t number = r.header.aux + i;
    // A path must be newer than its parent, so that no path contains itself.
    if (parent >= number || (parent != 0 && !paths_.contains(parent))) return false;
    const auto word = loadFixed<uint64_t>(record.data() + 8 * size_t{i});
    paths_[number] = {parent, word};
    delta_.object.push({.process_id = process_,
                        .kind = ObjectKind::kCallPath,
                        .handle = number,
                        .parent = parent,
                        .bytes = word});
    parent = number;
  }
  return true;
}

/// Frame words of a path, innermost first.
std::vector<uint64_t> RecordedStacks::wordsOf(uint32_t number) const {
  std::vector<uint64_t> words;
  for (auto it = paths_.find(number); it != paths_.end(); it = paths_.find(it->second.parent)) {
    words.push_back(it->second.word);
  }
  return words;
}

/// Merges a native path and a Python path.
void RecordedStacks::resolveMerged(Path& path) {
  const auto python = static_cast<uint32_t>(path.word & stacks::kFrameAddressMask);
  const std::vector<uint64_t> native_words = wordsOf(path.parent);
  const std::vector<uint64_t> python_words = wordsOf(python);
  const stacks::MergedStack merged = stacks::mergePython(
      native_words, python_words, [&](uint64_t word) { return kindByAddress(python_, word); });
  CallPathId id{};
  for (size_t i = merged.frames.size(); i-- > 0;) {
    const uint64_t word = merged.frames[i];
    if (stacks::kindOf(word) == FrameWordKind::kCut && (word & stacks::kOtherFrame) != 0) {
      path.end = static_cast<WalkEnd>(word & 3);
    }
    id = shared_.path(id, shared_.frame(frameOf(word), delta_), delta_);
  }
  path.id = id;
  path.merged = merged.agrees;
}

RecordedStacks::Path* RecordedStacks::resolved(uint32_t number) {
  const auto found = paths_.find(number);
  if (found == paths_.end()) return nullptr;
  // Resolve from the outermost unresolved frame inwards.
  std::vector<Path*> unknown;
  const Path* known = nullptr;
  for (auto it = found; it != paths_.end(); it = paths_.find(it->second.parent)) {
    if (it->second.id != CallPathId::kNone) {
      known = &it->second;
      break;
    }
    unknown.push_back(&it->second);
    // A merged path uses the words of its parent, not its frames.
    if (isMerge(it->second.word)) break;
  }
  for (size_t i = unknown.size(); i-- > 0;) {
    Path& path = *unknown[i];
    if (isMerge(path.word)) {
      resolveMerged(path);
    } else {
      if (known != nullptr) path.end = known->end;
      if ((path.word & stacks::kOtherFrame) != 0 &&
          stacks::kindOf(path.word) == FrameWordKind::kCut) {
        path.end = static_cast<WalkEnd>(path.word & 3);
      }
      const CallPathId parent = known == nullptr ? CallPathId::kNone : known->id;
      path.id = shared_.path(parent, shared_.frame(frameOf(path.word), delta_), delta_);
    }
    known = &path;
  }
  return &found->second;
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
  // Each thread reports the module.
  const auto known = modules_.find(r.begin);
  if (known != modules_.end() && known->second.end_address == row.end_address &&
      known->second.path == row.path && known->second.build_id == row.build_id) {
    return true;
  }
  modules_[r.begin] = row;
  delta_.module.push(row);
  return true;
}

bool RecordedStacks::addPythonCode(ByteView record) {
  arena::PythonCodeRecord r;
  if (!takePart(record, r) ||
      record.size() < uint64_t{r.name_bytes} + r.file_bytes + r.table_bytes) {
    return false;
  }
  const std::string_view name = asText(record.subspan(0, r.name_bytes));
  const std::string_view file = asText(record.subspan(r.name_bytes, r.file_bytes));
  const ByteView table = record.subspan(size_t{r.name_bytes} + r.file_bytes, r.table_bytes);
  StringTable& strings = delta_.strings;
  codes_[r.header.aux] = {strings.intern(name), strings.intern(file), r.first_line,
                          Bytes(table.begin(), table.end())};
  delta_.object.push({.process_id = process_,
                      .kind = ObjectKind::kPythonCode,
                      .handle = r.header.aux,
                      .name = strings.intern(fmt::format("{}:{}", file, name))});
  return true;
}

bool RecordedStacks::addPythonInterpreter(ByteView record) {
  arena::PythonInterpreterRecord r;
  if (!takePart(record, r)) return false;
  python_ = {r.header.aux, r.eval_begin, r.eval_end};
  return true;
}

/// Restores name and file only: the lines were lost with the dead collector.
void RecordedStacks::restorePythonCode(const ObjectRow& row) {
  const std::string_view text = delta_.strings.at(row.name);
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return;
  const std::string name(text.substr(colon + 1));
  const std::string file(text.substr(0, colon));
  codes_[static_cast<uint32_t>(row.handle)] = {
      delta_.strings.intern(name), delta_.strings.intern(file), 0, {}};
}

FrameRow RecordedStacks::pythonFrameOf(uint64_t word) {
  FrameRow row;
  const uint32_t number = stacks::pythonCodeOf(word);
  const auto it = codes_.find(number);
  if (it == codes_.end()) {
    row.function = delta_.strings.intern("[unknown Python code]");
    return row;
  }
  const PythonCode& code = it->second;
  row.function = code.name;
  row.file = code.file;
  row.module = delta_.strings.intern("Python");
  const uint32_t place = stacks::pythonPlaceOf(word);
  if (place != stacks::kPythonPlaceUnknown && !code.line_table.empty()) {
    const stacks::PythonLocation at =
        stacks::pythonLocationOf(code.line_table, code.first_line, place);
    if (at.line > 0) row.line = static_cast<uint32_t>(at.line);
  }
  return row;
}

CallPathId RecordedStacks::path(uint32_t number) {
  const Path* const path = resolved(number);
  return path == nullptr ? CallPathId::kNone : path->id;
}

CallPathId RecordedStacks::pathOfCall(uint32_t number) {
  ++totals_.calls;
  const Path* const path = resolved(number);
  if (path == nullptr) {
    ++totals_.without;
    return CallPathId::kNone;
  }
  if (!path->merged) ++totals_.not_merged;
  switch (path->end) {
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
  return path->id;
}

void RecordedStacks::restorePath(const ObjectRow& row) {
  paths_[static_cast<uint32_t>(row.handle)] = {static_cast<uint32_t>(row.parent), row.bytes};
}

}  // namespace tracesmith
