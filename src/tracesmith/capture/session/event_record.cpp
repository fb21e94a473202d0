// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/session/event_record.hpp"

#include <cstring>
#include <string_view>

namespace tracesmith::session {
namespace {

constexpr uint32_t kHasKernelParams = 1;
constexpr uint32_t kHasMemoryParams = 2;
constexpr uint32_t kHasFlow = 4;
constexpr uint32_t kHasStack = 8;
constexpr uint32_t kHasMetadata = 16;
constexpr uint32_t kHasCustomData = 32;

/// The fields of every event; `has` tells which optional parts follow, in the order of its bits.
struct Fixed {
  uint64_t timestamp;
  uint64_t duration;
  uint64_t correlation_id;
  uint32_t device_id;
  uint32_t stream_id;
  uint32_t thread_id;
  uint32_t name_bytes;
  uint32_t has;
  uint32_t type;
};
static_assert(sizeof(Fixed) == 48);

uint32_t partsOf(const TraceEvent& e) {
  return (e.kernel_params ? kHasKernelParams : 0) | (e.memory_params ? kHasMemoryParams : 0) |
         (e.flow_info != FlowInfo{} ? kHasFlow : 0) | (e.call_stack ? kHasStack : 0) |
         (e.metadata.empty() ? 0 : kHasMetadata) | (e.custom_data.empty() ? 0 : kHasCustomData);
}

class Encoder {
 public:
  explicit Encoder(uint8_t* out) : p_(out) {}
  template <class T>
  void fixed(const T& value) {
    std::memcpy(p_, &value, sizeof value);
    p_ += sizeof value;
  }
  void bytes(const void* data, size_t n) {
    if (n != 0) std::memcpy(p_, data, n);
    p_ += n;
  }
  void text(std::string_view s) {
    fixed(static_cast<uint32_t>(s.size()));
    bytes(s.data(), s.size());
  }

 private:
  uint8_t* p_;
};

/// Has the interface of Encoder, but only counts the bytes.
class Measure {
 public:
  template <class T>
  void fixed(const T&) {
    size += sizeof(T);
  }
  void bytes(const void*, size_t n) { size += n; }
  void text(std::string_view s) { size += sizeof(uint32_t) + s.size(); }
  size_t size = 0;
};

template <class Out>
void encode(const TraceEvent& e, Out& out) {
  const uint32_t has = partsOf(e);
  out.fixed(Fixed{e.timestamp, e.duration, e.correlation_id, e.device_id, e.stream_id, e.thread_id,
                  static_cast<uint32_t>(e.name.size()), has, static_cast<uint32_t>(e.type)});
  out.bytes(e.name.data(), e.name.size());
  if (has == 0) return;
  if (has & kHasKernelParams) out.fixed(*e.kernel_params);
  if (has & kHasMemoryParams) out.fixed(*e.memory_params);
  if (has & kHasFlow) out.fixed(e.flow_info);
  if (has & kHasStack) {
    out.fixed(e.call_stack->thread_id);
    out.fixed(static_cast<uint32_t>(e.call_stack->frames.size()));
    for (const StackFrame& f : e.call_stack->frames) {
      out.fixed(f.address);
      out.fixed(f.line_number);
      out.text(f.function_name);
      out.text(f.file_name);
      out.text(f.module);
    }
  }
  if (has & kHasMetadata) {
    out.fixed(static_cast<uint32_t>(e.metadata.size()));
    for (const auto& [key, value] : e.metadata) {
      out.text(key);
      out.text(value);
    }
  }
  if (has & kHasCustomData) {
    out.fixed(static_cast<uint32_t>(e.custom_data.size()));
    out.bytes(e.custom_data.data(), e.custom_data.size());
  }
}

class Decoder {
 public:
  explicit Decoder(ByteView bytes) : rest_(bytes) {}
  bool ok() const { return ok_; }
  template <class T>
  T fixed() {
    const ByteView at = take(sizeof(T));
    return ok_ ? loadFixed<T>(at.data()) : T{};
  }
  ByteView take(size_t n) {
    if (!ok_ || n > rest_.size()) {
      ok_ = false;
      return {};
    }
    const ByteView at = rest_.first(n);
    rest_ = rest_.subspan(n);
    return at;
  }
  std::string text(size_t n) {
    const ByteView at = take(n);
    return {reinterpret_cast<const char*>(at.data()), at.size()};
  }
  std::string text() { return text(fixed<uint32_t>()); }
  size_t left() const { return rest_.size(); }

 private:
  ByteView rest_;
  bool ok_ = true;
};

}  // namespace

size_t encodedSize(const TraceEvent& event) {
  Measure measure;
  encode(event, measure);
  return measure.size;
}

void encodeEvent(const TraceEvent& event, uint8_t* out) {
  Encoder encoder(out);
  encode(event, encoder);
}

bool decodeEvent(ByteView bytes, TraceEvent& e) {
  Decoder in(bytes);
  const auto f = in.fixed<Fixed>();
  if (!in.ok() || f.type >= static_cast<uint32_t>(kEventTypeCount)) return false;
  e = TraceEvent();
  e.type = static_cast<EventType>(f.type);
  e.timestamp = f.timestamp;
  e.duration = f.duration;
  e.correlation_id = f.correlation_id;
  e.device_id = f.device_id;
  e.stream_id = f.stream_id;
  e.thread_id = f.thread_id;
  e.name = in.text(f.name_bytes);
  if (f.has & kHasKernelParams) e.kernel_params = in.fixed<KernelParams>();
  if (f.has & kHasMemoryParams) e.memory_params = in.fixed<MemoryParams>();
  if (f.has & kHasFlow) e.flow_info = in.fixed<FlowInfo>();
  if (f.has & kHasStack) {
    CallStack& stack = e.call_stack.emplace();
    stack.thread_id = in.fixed<uint64_t>();
    const auto frames = in.fixed<uint32_t>();
    for (uint32_t i = 0; i < frames && in.ok(); ++i) {
      StackFrame& frame = stack.frames.emplace_back();
      frame.address = in.fixed<uint64_t>();
      frame.line_number = in.fixed<uint32_t>();
      frame.function_name = in.text();
      frame.file_name = in.text();
      frame.module = in.text();
    }
  }
  if (f.has & kHasMetadata) {
    const auto entries = in.fixed<uint32_t>();
    for (uint32_t i = 0; i < entries && in.ok(); ++i) {
      std::string key = in.text();
      e.metadata[std::move(key)] = in.text();
    }
  }
  if (f.has & kHasCustomData) {
    const ByteView data = in.take(in.fixed<uint32_t>());
    e.custom_data.assign(data.begin(), data.end());
  }
  return in.ok();
}

}  // namespace tracesmith::session
