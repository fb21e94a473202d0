// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/import/xray/xray_log.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "tracesmith/import/common/read_all.hpp"

namespace tracesmith::import {
namespace {

constexpr size_t kBasicRecordBytes = 32;
constexpr size_t kMetadataBytes = 16;
constexpr size_t kFunctionBytes = 8;
constexpr uint16_t kNewestBasic = 3;
constexpr uint16_t kNewestFdr = 5;

/// Kinds of FDR metadata: the upper seven bits of the first byte.
enum class Metadata : uint8_t {
  kNewBuffer = 0,      // i32 thread
  kEndOfBuffer = 1,    // versions 1 and 2: the rest of the buffer is stale
  kNewCpu = 2,         // u16 CPU, u64 TSC
  kTscWrap = 3,        // u64 TSC
  kWallClock = 4,      // u64 seconds, u32 microseconds
  kCustomEvent = 5,    // i32 bytes, then u64 TSC, u16 CPU (version 4); or i32 TSC difference (5)
  kCallArgument = 6,   // u64
  kBufferExtents = 7,  // u64 bytes of the records that follow
  kTypedEvent = 8,     // i32 bytes, i32 TSC difference, u16 type
  kProcess = 9,        // i32 process
};
constexpr uint8_t kMetadataKinds = 10;

constexpr uint8_t firstByte(Metadata kind) {
  return static_cast<uint8_t>(static_cast<uint8_t>(kind) << 1 | 1);
}

/// Holds back one event until it is known that none of its arguments follows.
class HeldRecord {
 public:
  explicit HeldRecord(const XRaySink& sink) : sink_(sink) {}
  XRayRecord& begin() {
    release();
    held_ = true;
    record_ = {};
    return record_;
  }
  bool holds() const { return held_; }
  const XRayRecord& get() const { return record_; }
  /// Adds an argument to the held event; a call only has a few.
  bool argument(uint64_t value) {
    if (!held_ || arguments_.size() >= kMostArguments) return false;
    if (record_.kind == XRayKind::kEnter) record_.kind = XRayKind::kEnterArgument;
    arguments_.push_back(value);
    return true;
  }
  void release() {
    if (held_) {
      record_.arguments = arguments_;
      going_ = going_ && sink_.record(record_);
    }
    held_ = false;
    arguments_.clear();
  }
  bool going() const { return going_; }

 private:
  static constexpr size_t kMostArguments = 64;
  const XRaySink& sink_;
  XRayRecord record_;
  std::vector<uint64_t> arguments_;
  bool held_ = false;
  bool going_ = true;
};

// --- Basic -----------------------------------------------------------------------------------

class BasicLog {
 public:
  BasicLog(const XRayHeader& header, const XRaySink& sink, DamageLog& damage)
      : header_(header), held_(sink), damage_(damage) {}

  uint64_t read(ByteSource& source) {
    std::vector<uint8_t> window(kBasicRecordBytes << 15);
    uint64_t offset = XRayHeader::kBytes;
    while (held_.going()) {
      const Result<size_t> n = source.read(window);
      if (!n) {
        damage_.add(offset, 0, n.error().message);
        break;
      }
      if (*n == 0) break;
      const size_t whole = *n / kBasicRecordBytes * kBasicRecordBytes;
      for (size_t at = 0; at < whole && held_.going(); at += kBasicRecordBytes) {
        record(window.data() + at, offset + at);
      }
      if (*n != whole) damage_.add(offset + whole, *n - whole, "it ends within a record");
      offset += *n;
    }
    held_.release();
    return offset;
  }

 private:
  void record(const uint8_t* p, uint64_t offset) {
    const auto type = loadFixed<uint16_t>(p);
    const auto function = loadFixed<int32_t>(p + 4);
    if (type == 0 && p[3] <= static_cast<uint8_t>(XRayKind::kEnterArgument)) {
      XRayRecord& r = held_.begin();
      r.kind = static_cast<XRayKind>(p[3]);
      r.cpu = p[2];
      r.function = function;
      r.tsc = loadFixed<uint64_t>(p + 8);
      r.thread = loadFixed<uint32_t>(p + 16);
      r.process = header_.version >= 3 ? loadFixed<uint32_t>(p + 20) : 0;
      return;
    }
    if (type == 1) {
      const bool fits = held_.holds() && held_.get().function == function &&
                        held_.get().thread == loadFixed<uint32_t>(p + 8) &&
                        (header_.version < 3 || held_.get().process == loadFixed<uint32_t>(p + 12));
      if (fits && held_.argument(loadFixed<uint64_t>(p + 16))) return;
      damage_.add(offset, kBasicRecordBytes, "an argument without its call");
      return;
    }
    damage_.add(offset, kBasicRecordBytes, "a record of an unknown kind");
  }

  const XRayHeader& header_;
  HeldRecord held_;
  DamageLog& damage_;
};

// --- FDR -------------------------------------------------------------------------------------

class FdrLog {
 public:
  FdrLog(const XRayHeader& header, std::string_view bytes, const XRaySink& sink, DamageLog& damage)
      : header_(header),
        bytes_(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()),
        sink_(sink),
        held_(sink),
        damage_(damage) {}

  void read() {
    if (header_.version >= 3) {
      findExtents();
    } else {
      findFixed();
    }
    std::stable_sort(buffers_.begin(), buffers_.end(), [](const Buffer& a, const Buffer& b) {
      const auto key = [](const Buffer& x) {
        // Short buffers may have started in the same microsecond; then the first TSC decides.
        return std::tuple(x.says.process, x.says.thread, x.says.wall_seconds, x.says.wall_micros,
                          x.says.first_tsc);
      };
      return key(a) < key(b);
    });
    for (const Buffer& b : buffers_) {
      if (sink_.buffer) sink_.buffer(b.says);
      expand(b);
      held_.release();
      if (!held_.going()) break;
    }
  }

 private:
  struct Buffer {
    size_t begin = 0;
    size_t end = 0;
    XRayBuffer says;
  };

  /// Versions 3 to 5: each buffer starts with its size.
  void findExtents() {
    size_t at = XRayHeader::kBytes;
    while (at < bytes_.size()) {
      const size_t from = at;
      while (at < bytes_.size() && bytes_[at] != firstByte(Metadata::kBufferExtents)) ++at;
      if (at > from) damage_.add(from, at - from, "no buffer starts here");
      if (at >= bytes_.size()) return;
      if (bytes_.size() - at < kMetadataBytes) {
        damage_.add(at, bytes_.size() - at, "it ends within a record");
        return;
      }
      const auto size = loadFixed<uint64_t>(&bytes_[at + 1]);
      const size_t begin = at + kMetadataBytes;
      const size_t left = bytes_.size() - begin;
      if (size > left) damage_.add(begin, 0, "the last buffer is cut");
      add(begin, begin + static_cast<size_t>(std::min<uint64_t>(size, left)));
      at = buffers_.back().end;
    }
  }

  /// Versions 1 and 2: all buffers have the same size.
  void findFixed() {
    const uint64_t size = header_.bufferBytes() > 0 ? header_.bufferBytes() : bytes_.size();
    for (size_t at = XRayHeader::kBytes; at < bytes_.size();) {
      const size_t left = bytes_.size() - at;
      add(at, at + static_cast<size_t>(std::min<uint64_t>(size, left)));
      at = buffers_.back().end;
    }
  }

  /// Reads the properties of a buffer from its first records.
  void add(size_t begin, size_t end) {
    Buffer b{begin, end, {.bytes = end - begin}};
    for (size_t at = begin; end - at >= kMetadataBytes && (bytes_[at] & 1) != 0;
         at += kMetadataBytes) {
      const uint8_t* const p = &bytes_[at];
      const auto kind = static_cast<Metadata>(*p >> 1);
      if (kind == Metadata::kNewBuffer) {
        b.says.thread = loadFixed<uint32_t>(p + 1);
      } else if (kind == Metadata::kWallClock) {
        b.says.wall_seconds = loadFixed<uint64_t>(p + 1);
        b.says.wall_micros = loadFixed<uint32_t>(p + 9);
      } else if (kind == Metadata::kProcess) {
        b.says.process = loadFixed<uint32_t>(p + 1);
      } else if (kind == Metadata::kNewCpu) {
        b.says.first_tsc = loadFixed<uint64_t>(p + 3);
        break;
      } else {
        break;
      }
    }
    buffers_.push_back(b);
  }

  XRayRecord& begin(XRayKind kind) {
    XRayRecord& r = held_.begin();
    r.kind = kind;
    r.cpu = cpu_;
    r.tsc = tsc_;
    r.process = process_;
    r.thread = thread_;
    return r;
  }

  void expand(const Buffer& b) {
    process_ = b.says.process;
    thread_ = b.says.thread;
    cpu_ = 0;
    tsc_ = 0;
    for (size_t at = b.begin; at < b.end && held_.going();) {
      const uint8_t* const p = &bytes_[at];
      const size_t left = b.end - at;
      const bool metadata = (*p & 1) != 0;
      if (left < (metadata ? kMetadataBytes : kFunctionBytes)) {
        damage_.add(at, left, "a buffer ends within a record");
        return;
      }
      if (!metadata) {
        const auto word = loadFixed<uint32_t>(p);
        const uint32_t kind = word >> 1 & 7;
        if (kind > static_cast<uint32_t>(XRayKind::kEnterArgument)) {
          damage_.add(at, left, "a function record of an unknown kind");
          return;
        }
        tsc_ += loadFixed<uint32_t>(p + 4);
        begin(static_cast<XRayKind>(kind)).function = static_cast<int32_t>(word >> 4);
        at += kFunctionBytes;
        continue;
      }
      if (*p >> 1 >= kMetadataKinds) {
        damage_.add(at, left, "a metadata record of an unknown kind");
        return;
      }
      if (static_cast<Metadata>(*p >> 1) == Metadata::kEndOfBuffer) return;
      const size_t payload = this->metadata(static_cast<Metadata>(*p >> 1), p, left);
      if (payload == kCut) {
        damage_.add(at, left, "an event that is longer than its buffer");
        return;
      }
      at += kMetadataBytes + payload;
    }
  }

  /// Processes a metadata record; returns the number of bytes that follow it.
  size_t metadata(Metadata kind, const uint8_t* p, size_t left) {
    switch (kind) {
      case Metadata::kNewBuffer:
        thread_ = loadFixed<uint32_t>(p + 1);
        break;
      case Metadata::kProcess:
        process_ = loadFixed<uint32_t>(p + 1);
        break;
      case Metadata::kNewCpu:
        held_.release();
        cpu_ = loadFixed<uint16_t>(p + 1);
        tsc_ = loadFixed<uint64_t>(p + 3);
        break;
      case Metadata::kTscWrap:
        held_.release();
        tsc_ = loadFixed<uint64_t>(p + 1);
        break;
      case Metadata::kCallArgument:
        if (!held_.argument(loadFixed<uint64_t>(p + 1))) {
          damage_.add(static_cast<size_t>(p - bytes_.data()), kMetadataBytes,
                      "an argument without its call");
        }
        break;
      case Metadata::kCustomEvent:
      case Metadata::kTypedEvent:
        return event(kind, p, left);
      case Metadata::kWallClock:
      case Metadata::kBufferExtents:
      case Metadata::kEndOfBuffer:
        held_.release();
        break;
    }
    return 0;
  }

  size_t event(Metadata kind, const uint8_t* p, size_t left) {
    const auto size = loadFixed<int32_t>(p + 1);
    if (size < 0 || static_cast<size_t>(size) > left - kMetadataBytes) return kCut;
    const bool typed = kind == Metadata::kTypedEvent;
    const bool absolute = !typed && header_.version < 5;
    if (!absolute) tsc_ += static_cast<uint64_t>(int64_t{loadFixed<int32_t>(p + 5)});
    XRayRecord& r = begin(typed ? XRayKind::kTypedEvent : XRayKind::kCustomEvent);
    if (absolute) {
      r.tsc = loadFixed<uint64_t>(p + 5);
      if (header_.version == 4) r.cpu = loadFixed<uint16_t>(p + 13);
    }
    if (typed) r.event_type = loadFixed<uint16_t>(p + 9);
    r.data = asText({p + kMetadataBytes, static_cast<size_t>(size)});
    return static_cast<size_t>(size);
  }

  static constexpr size_t kCut = ~size_t{0};
  const XRayHeader& header_;
  ByteView bytes_;
  const XRaySink& sink_;
  HeldRecord held_;
  DamageLog& damage_;
  std::vector<Buffer> buffers_;
  uint32_t process_ = 0;
  uint32_t thread_ = 0;
  uint16_t cpu_ = 0;
  uint64_t tsc_ = 0;
};

/// Returns the bytes already read for recognition, then the rest.
class Rejoined : public ByteSource {
 public:
  Rejoined(ByteView head, ByteSource& rest) : head_(head), rest_(rest) {}
  Result<size_t> read(std::span<uint8_t> out) override {
    const size_t n = std::min(out.size(), head_.size());
    std::copy_n(head_.begin(), n, out.begin());
    head_ = head_.subspan(n);
    if (n > 0) return n;
    return rest_.read(out);
  }

 private:
  ByteView head_;
  ByteSource& rest_;
};

}  // namespace

std::optional<XRayHeader> xrayHeader(ByteView bytes) {
  if (bytes.size() < XRayHeader::kBytes) return std::nullopt;
  const uint8_t* const p = bytes.data();
  XRayHeader h;
  h.version = loadFixed<uint16_t>(p);
  h.mode = static_cast<XRayMode>(loadFixed<uint16_t>(p + 2));
  h.constant_tsc = (p[4] & 1) != 0;
  h.nonstop_tsc = (p[4] & 2) != 0;
  h.cycle_frequency = loadFixed<uint64_t>(p + 8);
  std::copy_n(p + 16, h.free_form.size(), h.free_form.begin());
  const bool basic = h.mode == XRayMode::kBasic && h.version <= kNewestBasic;
  const bool fdr = h.mode == XRayMode::kFdr && h.version <= kNewestFdr;
  if (h.version == 0 || (!basic && !fdr)) return std::nullopt;
  return h;
}

bool looksLikeXRay(ByteView head) {
  const std::optional<XRayHeader> h = xrayHeader(head);
  constexpr uint64_t kNoProcessor = 1'000'000'000'000;  // Hz
  if (!h || h->cycle_frequency > kNoProcessor) return false;
  const ByteView rest = head.subspan(XRayHeader::kBytes);
  if (rest.empty()) return true;
  if (h->mode == XRayMode::kFdr) {
    return rest[0] == firstByte(h->version >= 3 ? Metadata::kBufferExtents : Metadata::kNewBuffer);
  }
  return rest.size() < kBasicRecordBytes ||
         (loadFixed<uint16_t>(rest.data()) == 0 &&
          rest[3] <= static_cast<uint8_t>(XRayKind::kTypedEvent));
}

Result<uint64_t> readXRayLog(ByteSource& source, const XRaySink& sink, DamageLog& damage) {
  std::array<uint8_t, XRayHeader::kBytes> head{};
  TS_TRY(const size_t n, source.read(head));
  const std::optional<XRayHeader> header = xrayHeader(ByteView(head).first(n));
  if (!header) return fail(ErrorCode::kNotATrace, "is not a log of LLVM's XRay");
  if (sink.header) sink.header(*header);
  if (header->mode == XRayMode::kBasic) return BasicLog(*header, sink, damage).read(source);
  Rejoined whole(head, source);
  std::string cut_short;
  TS_TRY(const Column<char> bytes, readAll(whole, kLongestFdrLog, 0, cut_short));
  if (!cut_short.empty()) damage.add(bytes.size(), 0, cut_short);
  FdrLog(*header, {bytes.data(), bytes.size()}, sink, damage).read();
  return bytes.size();
}

}  // namespace tracesmith::import
