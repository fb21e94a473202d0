// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/perfetto/perfetto_stacks.hpp"

#include "tracesmith/analysis/timing/call_path_costs.hpp"
#include "tracesmith/export/perfetto/proto_wire.hpp"

namespace tracesmith::perfetto {
namespace {

/// The bytes of a build id; "" if the text is not one.
std::string bytesOfHex(std::string_view text) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  std::string bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    const int high = digit(text[i]);
    const int low = digit(text[i + 1]);
    if (high < 0 || low < 0) return {};
    bytes += static_cast<char>(high << 4 | low);
  }
  return bytes;
}

template <uint32_t kField>
void introduceText(std::string& out, uint32_t number, std::string_view text) {
  proto::append(out, proto::textBound(text.size()) + 32, [&](proto::Cursor& c) {
    c.message<kField>([&] {
      c.uint<interned::kIid>(number);
      c.text<interned::kName>(text);
    });
  });
}

}  // namespace

Stacks::Stacks(const Trace& trace, const CallPathTable& paths)
    : trace_(trace), paths_(paths), symbols_(trace) {
  first_number_.reserve(trace.frame.size() + 1);
  uint32_t next = 1;
  for (size_t i = 0; i < trace.frame.size(); ++i) {
    first_number_.push_back(next);
    symbols_.functions(idAt<FrameId>(i), functions_);
    next += static_cast<uint32_t>(functions_.size());
  }
  first_number_.push_back(next);
}

uint32_t Stacks::textNumber(std::string_view text) {
  return texts_.try_emplace(std::string(text), static_cast<uint32_t>(texts_.size() + 1))
      .first->second;
}

uint32_t Stacks::introduceModule(const FrameRow& frame, SeenStacks& seen, std::string& out) {
  const uint64_t key =
      static_cast<uint64_t>(frame.module) << 32 | static_cast<uint32_t>(frame.build_id);
  const uint32_t number =
      mappings_.try_emplace(key, static_cast<uint32_t>(mappings_.size() + 1)).first->second;
  if (!seen.modules.insert(number)) return number;
  // The whole path is written as a single component.
  introduceText<interned::kMappingPaths>(out, number, trace_.text(frame.module));
  const std::string build_id = bytesOfHex(trace_.text(frame.build_id));
  if (!build_id.empty()) introduceText<interned::kBuildIds>(out, number, build_id);
  proto::append(out, 64, [&](proto::Cursor& c) {
    c.message<interned::kMappings>([&] {
      c.uint<interned::kIid>(number);
      if (!build_id.empty()) c.uint<interned::mapping::kBuildId>(number);
      c.uint<interned::mapping::kPath>(number);
    });
  });
  return number;
}

void Stacks::introduceFrame(FrameId id, SeenStacks& seen, std::string& out) {
  const uint32_t first = first_number_[indexOf(id)];
  if (!seen.frames.insert(first)) return;
  const FrameRow row = trace_.frame.row(indexOf(id));
  // Perfetto expects an address within the call instruction; a trace has the return address.
  const bool exact = (row.flags & frame_flags::kExact) != 0;
  // Without an address a frame has no identity within a mapping.
  const bool in_module = row.module != StringId::kNone && row.module_offset != 0;
  const bool python =
      row.address == 0 && row.module_offset == 0 && trace_.text(row.module) == "Python";
  const uint32_t mapping = in_module ? introduceModule(row, seen, out) : 0;
  symbols_.functions(id, functions_);
  for (size_t i = functions_.size(); i-- > 0;) {
    const FrameFunction& function = functions_[i];
    const std::string label = symbols_.label(id, function);
    const uint32_t name = label.empty() ? 0 : textNumber(label);
    if (name != 0 && seen.functions.insert(name)) {
      introduceText<interned::kFunctionNames>(out, name, label);
    }
    const uint32_t file = function.file.empty() ? 0 : textNumber(function.file);
    if (file != 0 && seen.files.insert(file)) {
      introduceText<interned::kSourcePaths>(out, file, function.file);
    }
    proto::append(out, 128, [&](proto::Cursor& c) {
      c.message<interned::kFrames>([&] {
        c.uint<interned::kIid>(first + (functions_.size() - 1 - i));
        if (name != 0) c.uint<interned::frame::kFunctionName>(name);
        if (mapping != 0) {
          c.uint<interned::frame::kMapping>(mapping);
          c.uint<interned::frame::kRelativePc>(row.module_offset - (exact ? 0 : 1));
        }
        if (file != 0) c.uint<interned::frame::kSourcePath>(file);
        if (function.line != 0) c.uint<interned::frame::kLineNumber>(function.line);
        if (python) c.uint<interned::frame::kKind>(interned::frame::kInterpreted);
      });
    });
  }
}

void Stacks::introduce(CallPathId path, SeenStacks& seen, std::string& out) {
  if (!seen.callstacks.insert(static_cast<uint32_t>(path))) return;
  std::vector<FrameId> stack = framesOf(paths_, path);
  std::erase_if(stack, [&](FrameId id) { return !isKnown(id); });
  size_t frames = 0;
  for (const FrameId id : stack) {
    introduceFrame(id, seen, out);
    frames += first_number_[indexOf(id) + 1] - first_number_[indexOf(id)];
  }
  proto::append(out, 64 + frames * 8, [&](proto::Cursor& c) {
    c.message<interned::kCallstacks>([&] {
      c.uint<interned::kIid>(static_cast<uint64_t>(path));
      for (const FrameId id : stack) {
        for (uint32_t n = first_number_[indexOf(id)]; n < first_number_[indexOf(id) + 1]; ++n) {
          c.uint<interned::callstack::kFrames>(n);
        }
      }
    });
  });
}

}  // namespace tracesmith::perfetto
