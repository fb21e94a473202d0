// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/sampled/python_process.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "tracesmith/base/hash.hpp"
#include "tracesmith/stacks/python/python_text.hpp"
#include "tracesmith/stacks/sampled/elf_layout.hpp"
#include "tracesmith/stacks/unwind/packed_frame.hpp"

namespace tracesmith::stacks {
namespace {

/// The code that the interpreter puts around __init__ does not contain its size.
constexpr int64_t kSlack = 8;
constexpr size_t kMostTextBytes = 4096, kMostTableBytes = 1 << 20;
constexpr uint32_t kMostKnown = 1u << 16;
/// Names of the interpreter's variables and functions.
constexpr std::string_view kPrefix = "Py";

std::string_view fileNameOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// What the process exports, in its addresses: the program's own variables come first, since a
/// library uses the program's copies of them.
using Exports = std::map<std::string, ElfExport, std::less<>>;

Exports exportsOf(pid_t pid, ProcessCode& code) {
  Exports out;
  std::vector<std::string> done;
  for (const CodeMapping& mapping : code.mappings()) {
    if (!mayHavePython(mapping.path) ||
        std::find(done.begin(), done.end(), mapping.path) != done.end()) {
      continue;
    }
    const ProcessCode::Place place = code.placeOf(mapping.begin);
    const OpenFile file = place.image == nullptr ? OpenFile() : openMapped(pid, mapping);
    if (!file) continue;
    const auto layout = ElfLayout::read(file.fd());
    if (!layout) continue;
    done.push_back(mapping.path);
    const uint64_t bias = mapping.begin - place.address;
    for (auto& [name, its] : readExports(file.fd(), *layout, kPrefix)) {
      out.try_emplace(name, ElfExport{its.address + bias, its.bytes});
    }
  }
  return out;
}

}  // namespace

bool mayHavePython(std::string_view path) {
  const std::string_view name = fileNameOf(path);
  return name.starts_with("python") || name.starts_with("libpython");
}

std::optional<PythonProcess> PythonProcess::find(pid_t pid, ProcessCode& code) {
  PythonProcess out(pid);
  if (!out.readSymbols(code)) return std::nullopt;
  return out;
}

bool PythonProcess::readSymbols(ProcessCode& code) {
  const Exports exports = exportsOf(pid_, code);
  const auto addressOf = [&](std::string_view name) {
    const auto found = exports.find(name);
    return found == exports.end() ? 0 : found->second.address;
  };
  uint64_t version = 0;
  std::array<uint64_t, 64> offsets{};
  runtime_ = addressOf("_PyRuntime");
  code_type_ = addressOf("PyCode_Type");
  text_type_ = addressOf("PyUnicode_Type");
  bytes_type_ = addressOf("PyBytes_Type");
  if (runtime_ == 0 || code_type_ == 0 || text_type_ == 0 || bytes_type_ == 0 ||
      !read(addressOf("Py_Version"), &version, sizeof version) ||
      !read(runtime_, offsets.data(), sizeof offsets) ||
      findPythonLayout(static_cast<uint32_t>(version), offsets.data(), layout_) !=
          PythonLayoutResult::kKnown) {
    return false;
  }
  interpreter_.version = static_cast<uint32_t>(version);
  if (const auto eval = exports.find("_PyEval_EvalFrameDefault"); eval != exports.end()) {
    interpreter_.eval_begin = eval->second.address;
    interpreter_.eval_end = eval->second.address + eval->second.bytes;
  }
  return true;
}

PythonProcess PythonProcess::copyFor(pid_t child) const {
  PythonProcess out = *this;
  out.pid_ = child;
  out.doubt();
  return out;
}

bool PythonProcess::read(uint64_t address, void* out, size_t bytes) const {
  iovec here{out, bytes};
  iovec there{reinterpret_cast<void*>(address), bytes};  // NOLINT: of another process
  return address != 0 &&
         process_vm_readv(pid_, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

uint32_t SampledPythonCodes::numberOf(SampledPythonCode code) {
  const auto [it, is_new] =
      numbers_.try_emplace({code.name, code.file, code.first_line, hash64(code.line_table)},
                           static_cast<uint32_t>(codes_.size() + 1));
  if (!is_new) return it->second;
  if (codes_.size() >= kMost) {
    numbers_.erase(it);
    return 0;
  }
  codes_.push_back(std::move(code));
  return it->second;
}

/// What distinguishes the code object at the address, if there is one.
PythonProcess::Found PythonProcess::printOf(uint64_t code, Print& out) const {
  std::array<uint8_t, 512> bytes{};
  const auto at = [&](uint32_t place, auto& value) {
    std::memcpy(&value, bytes.data() + place, sizeof value);
  };
  const uint32_t size = layout_.code_instructions;
  uint64_t type = 0;
  for (const uint32_t place :
       {layout_.code_filename, layout_.code_qualname, layout_.code_line_table,
        layout_.code_first_line, layout_.code_first_traceable, kObjectSize}) {
    if (size > bytes.size() || place + sizeof(uint64_t) > size) return Found::kNothing;
  }
  if (!read(code, bytes.data(), size)) return Found::kUnreadable;
  at(kObjectType, type);
  at(kObjectSize, out.size);
  at(layout_.code_qualname, out.name);
  at(layout_.code_filename, out.file);
  at(layout_.code_line_table, out.line_table);
  at(layout_.code_first_line, out.first_line);
  at(layout_.code_first_traceable, out.first_traceable);
  const auto units = static_cast<int64_t>(out.size);
  if (type != code_type_ || units < 0 || units >= INT32_MAX || out.first_traceable < 0 ||
      out.first_traceable > units + kSlack) {
    return Found::kNothing;
  }
  return Found::kCode;
}

/// Very long texts are cut.
std::string PythonProcess::textAt(uint64_t address) const {
  std::array<uint64_t, 5> head{};  // count of references, type, length, hash, state
  std::string out;
  if (!read(address, head.data(), sizeof head) || head[1] != text_type_) return out;
  constexpr uint32_t kKind = 2, kCompact = 5, kAscii = 6;  // bits of the state
  const auto state = static_cast<uint32_t>(head[kTextState / 8]);
  const size_t width = state >> kKind & 7;
  if ((state >> kCompact & 1) == 0 || (width != 1 && width != 2 && width != 4)) return out;
  const size_t count = std::min<uint64_t>(head[kTextLength / 8], kMostTextBytes);
  const uint64_t begin =
      address + ((state >> kAscii & 1) != 0 ? layout_.text_ascii : layout_.text_other);
  std::vector<uint8_t> characters(count * width);
  if (count == 0 || !read(begin, characters.data(), characters.size())) return out;
  for (size_t i = 0; i < count && out.size() + 4 <= kMostTextBytes; ++i) {
    uint32_t c = 0;
    std::memcpy(&c, characters.data() + i * width, width);
    std::array<char, 4> utf8{};
    out.append(utf8.data(), putUtf8(c, utf8.data()));
  }
  return out;
}

SampledPythonCode PythonProcess::describe(const Print& print) const {
  SampledPythonCode out{.name = textAt(print.name),
                        .file = textAt(print.file),
                        .first_line = print.first_line,
                        .line_table = {}};
  std::array<uint64_t, 3> head{};  // count of references, type, size
  if (read(print.line_table, head.data(), sizeof head) && head[1] == bytes_type_ &&
      head[2] <= kMostTableBytes) {
    out.line_table.resize(head[2]);
    if (!read(print.line_table + kBytesData, out.line_table.data(), out.line_table.size())) {
      out.line_table.clear();
    }
  }
  return out;
}

/// The code object at the address as it is now; as it was, if the process has ended.
PythonProcess::Found PythonProcess::look(uint64_t code, SampledPythonCodes& codes, Known& out) {
  const auto before = known_.find(code);
  const bool is_known = before != known_.end();
  if (is_known && before->second.round == round_) {
    out = before->second;
    return Found::kCode;
  }
  Print print;
  const Found found = printOf(code, print);
  if (found == Found::kUnreadable && is_known) {
    out = before->second;
    return Found::kCode;
  }
  if (found != Found::kCode) return found;
  if (is_known && before->second.print == print) {
    before->second.round = round_;
    out = before->second;
    return found;
  }
  if (known_.size() >= kMostKnown) known_.clear();
  out = {.print = print, .number = codes.numberOf(describe(print)), .round = round_};
  known_[code] = out;
  return found;
}

bool PythonProcess::wordsOf(std::span<const RawPythonFrame> frames, bool is_cut,
                            SampledPythonCodes& codes, std::vector<uint64_t>& out) {
  const bool is_marked = layout_.frame_is_entry != PythonLayout::kAbsent;
  bool is_any_known = false;
  out.clear();
  for (size_t i = 0; i < frames.size(); ++i) {
    const RawPythonFrame& frame = frames[i];
    if (frame.owner >= kOwnedByC) continue;  // without Python code
    const bool is_last = i + 1 == frames.size();
    const bool is_entry = is_marked ? frame.is_entry
                          : is_last ? !is_cut
                                    : frames[i + 1].owner >= kOwnedByC;
    Known known;
    const Found found = look(frame.code, codes, known);
    if (found == Found::kNothing) return false;
    if (found == Found::kUnreadable) {  // the process has ended
      out.push_back(pythonFrame(0, is_entry, kPythonPlaceUnknown));
      continue;
    }
    is_any_known = true;
    const uint64_t begin = frame.code + layout_.code_instructions;
    // A frame that has not started may be one unit before its code.
    const uint64_t behind = frame.instruction + kPythonUnit - begin;
    if (behind % kPythonUnit != 0 || behind > kPythonUnit * (known.print.size + kSlack))
      return false;
    const auto traceable = static_cast<uint64_t>(known.print.first_traceable);
    // The interpreter itself hides frames that have not reached their first line, and the one that
    // it puts around __init__.
    if (frame.owner != kOwnedByGenerator && !is_entry &&
        frame.instruction < begin + kPythonUnit * traceable) {
      continue;
    }
    const uint64_t place =
        frame.instruction < begin ? 0 : (frame.instruction - begin) / kPythonUnit;
    out.push_back(pythonFrame(known.number, is_entry, place));
  }
  if (is_cut && !out.empty()) {
    out.push_back(otherFrame(FrameWordKind::kCut, static_cast<uint64_t>(WalkEnd::kTooDeep)));
  }
  return is_any_known || out.empty();
}

}  // namespace tracesmith::stacks
