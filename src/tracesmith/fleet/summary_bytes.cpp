// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/fleet/summary_bytes.hpp"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tracesmith/analysis/kernel_names/kernel_name.hpp"
#include "tracesmith/base/hash.hpp"
#include "tracesmith/fleet/add_sums.hpp"

namespace tracesmith {
namespace {

constexpr char kMagic[] = {'T', 'S', 's', 'u', 'm', 'm', 'r', 'y'};
constexpr size_t kHeaderBytes = 32;
constexpr int kZstdLevel = 3;

// --- Writing ----------------------------------------------------------------------------------

void put(Bytes& out, uint64_t value) {
  uint8_t bytes[kMaxVarintBytes];
  out.insert(out.end(), bytes, putVarint(bytes, value));
}
void put(Bytes& out, const Largest& largest) { put(out, largest.value); }
void put(Bytes& out, const WideSum& sum) {
  put(out, sum.low);
  put(out, sum.high);
}
void put(Bytes& out, const ValueSums& values) {
  if (values.count == 0) return;
  put(out, values.count);
  put(out, values.sum);
  put(out, values.min);
  put(out, values.max);
  uint32_t last = 0;
  for (const auto& [index, n] : values.buckets) {
    put(out, uint64_t{index - last});
    put(out, n);
    last = index;
  }
}

template <class Sums>
void putFields(Bytes& out, const Sums& sums);

template <class T>
void putValue(Bytes& out, const T& value) {
  if constexpr (HasFields<const T>) {
    putFields(out, value);
  } else {
    put(out, value);
  }
}

void putBlock(Bytes& out, ByteView bytes) {
  put(out, uint64_t{bytes.size()});
  out.insert(out.end(), bytes.begin(), bytes.end());
}

template <class T>
void put(Bytes& out, const std::map<std::string, T>& map) {
  Bytes value;
  for (const auto& [name, each] : map) {
    value.clear();
    putValue(value, each);
    putBlock(out, asBytes(name));
    putBlock(out, value);
  }
}

template <class Sums>
void putFields(Bytes& out, const Sums& sums) {
  Bytes value;
  visitFields(sums, [&](size_t number, const auto& field) {
    if (field == std::remove_cvref_t<decltype(field)>()) return;
    value.clear();
    put(value, field);
    put(out, uint64_t{number});
    putBlock(out, value);
  });
}

// --- Reading ----------------------------------------------------------------------------------

struct SummaryReader : ByteReader {
  SummaryReader(ByteView bytes, uint64_t& memory) : ByteReader(bytes), room(memory) {}
  /// False: what is read takes too much memory.
  bool claim(uint64_t bytes) {
    const bool fits = bytes <= room;
    room = fits ? room - bytes : 0;
    return fits;
  }
  uint64_t& room;  ///< bytes of memory; 0: was not enough
};

bool take(SummaryReader& in, uint64_t& value) {
  value = in.varint();
  return in.ok();
}
bool take(SummaryReader& in, Largest& largest) { return take(in, largest.value); }
bool take(SummaryReader& in, WideSum& sum) { return take(in, sum.low) && take(in, sum.high); }
bool take(SummaryReader& in, ValueSums& values) {
  if (in.remaining() == 0) return true;  // no values
  if (!take(in, values.count) || !take(in, values.sum) || !take(in, values.min) ||
      !take(in, values.max) || values.count == 0 || values.min > values.max) {
    return false;
  }
  const size_t most_buckets = std::min<size_t>(in.remaining() / 2, log_buckets::kCount);
  if (!in.claim(most_buckets * sizeof values.buckets[0])) return false;
  values.buckets.reserve(most_buckets);
  uint64_t index = 0, counted = 0;
  while (in.remaining() > 0) {
    uint64_t distance = 0, n = 0;
    if (!take(in, distance) || !take(in, n) || n == 0) return false;
    if (distance == 0 && !values.buckets.empty()) return false;
    index += std::min<uint64_t>(distance, log_buckets::kCount);
    if (index >= log_buckets::kCount || n > values.count - counted) return false;
    counted += n;
    values.buckets.emplace_back(static_cast<uint32_t>(index), n);
  }
  return counted == values.count;
}

template <class Sums>
bool takeFields(SummaryReader& in, Sums& sums);

template <class T>
bool takeValue(SummaryReader& in, T& value) {
  if constexpr (HasFields<T>) {
    return takeFields(in, value);
  } else {
    return take(in, value);
  }
}

/// False unless `f` takes the whole block.
template <class F>
bool takeBlock(SummaryReader& in, F&& f) {
  const uint64_t bytes = in.varint();
  if (!in.ok() || bytes > in.remaining()) return false;
  SummaryReader block(in.take(static_cast<size_t>(bytes)), in.room);
  return f(block) && block.ok() && block.remaining() == 0;
}

template <class T>
bool take(SummaryReader& in, std::map<std::string, T>& map) {
  while (in.remaining() > 0) {
    std::string name;
    const bool has_name = takeBlock(in, [&](SummaryReader& block) {
      name = asText(block.take(block.remaining()));
      return true;
    });
    constexpr uint64_t kOfNode = 64;  // of the map, and of the allocator
    if (!in.claim(sizeof(std::pair<std::string, T>) + name.capacity() + kOfNode)) return false;
    if (!has_name || (!map.empty() && name <= map.rbegin()->first)) return false;
    T value{};
    if (!takeBlock(in, [&](SummaryReader& block) { return takeValue(block, value); })) return false;
    map.emplace_hint(map.end(), std::move(name), std::move(value));
  }
  return true;
}

template <class Sums>
bool takeFields(SummaryReader& in, Sums& sums) {
  uint64_t last = 0;
  while (in.remaining() > 0) {
    const uint64_t number = in.varint();
    if (!in.ok() || number <= last) return false;
    last = number;
    bool is_taken = false;
    visitFields(sums, [&](size_t field_number, auto& field) {
      if (field_number != number) return;
      is_taken = takeBlock(in, [&](SummaryReader& block) { return take(block, field); });
    });
    if (!is_taken) return false;
  }
  return true;
}

}  // namespace

Bytes summaryBody(const FleetSummary& summary) {
  Bytes body;
  putFields(body, summary);
  return body;
}

Bytes encodeSummary(const FleetSummary& summary) {
  const Bytes body = summaryBody(summary);
  Bytes packed(ZSTD_compressBound(body.size()));
  packed.resize(ZSTD_compress(packed.data(), packed.size(), body.data(), body.size(), kZstdLevel));
  Bytes rest;
  putFixed(rest, uint64_t{body.size()});
  rest.insert(rest.end(), packed.begin(), packed.end());
  Bytes out(std::begin(kMagic), std::end(kMagic));
  putFixed(out, kSummaryVersion);
  putFixed(out, uint32_t{0});
  putFixed(out, hash64(rest));
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

Bytes encodeSummary(FleetSummary& summary, size_t most_bytes) {
  Bytes bytes = encodeSummary(summary);
  while (bytes.size() > most_bytes && !summary.kernels.empty()) {
    using Kernel = std::map<std::string, ValueSums>::iterator;
    std::vector<Kernel> kernels;
    for (auto at = summary.kernels.begin(); at != summary.kernels.end(); ++at) {
      kernels.push_back(at);
    }
    std::sort(kernels.begin(), kernels.end(), [](const Kernel& a, const Kernel& b) {
      const WideSum &x = a->second.sum, &y = b->second.sum;
      return x.high != y.high ? x.high > y.high
             : x.low != y.low ? x.low > y.low
                              : a->first < b->first;
    });
    const double fits = static_cast<double>(most_bytes) / static_cast<double>(bytes.size());
    const auto kept = static_cast<size_t>(static_cast<double>(kernels.size()) * fits * 0.97);
    for (size_t i = kept; i < kernels.size(); ++i) {
      const KernelFamily family = readKernelName(kernels[i]->first).family;
      summary.other_kernels[std::string(toString(family))].add(kernels[i]->second);
      summary.kernels.erase(kernels[i]);
    }
    bytes = encodeSummary(summary);
  }
  // Very many other names, or long ones.
  for (size_t most = 512; bytes.size() > most_bytes && most > 0; most /= 2) {
    keepLargest(summary.comm, most, [](const CommSums& sums) { return sums.call_ns.sum.low; });
    keepLargest(summary.devices, most, [](const ClassTimes& times) { return times.span_ns.low; });
    keepLargest(summary.sources, most, [](uint64_t traces) { return traces; });
    keepLargest(summary.versions, most, [](uint64_t traces) { return traces; });
    bytes = encodeSummary(summary);
  }
  return bytes;
}

bool isSummary(ByteView bytes) {
  return bytes.size() >= sizeof kMagic && std::memcmp(bytes.data(), kMagic, sizeof kMagic) == 0;
}

Result<FleetSummary> decodeSummary(ByteView bytes, size_t most_bytes) {
  const auto damaged = [](std::string what) {
    return fail(ErrorCode::kDamaged, "the summary is damaged: " + std::move(what));
  };
  if (!isSummary(bytes)) return fail(ErrorCode::kNotATrace, "is no summary of TraceSmith");
  ByteReader header(bytes.subspan(sizeof kMagic));
  const auto version = header.fixed<uint32_t>();
  header.fixed<uint32_t>();
  const auto hash = header.fixed<uint64_t>();
  if (!header.ok() || bytes.size() < kHeaderBytes) return damaged("it is cut off");
  if (version > kSummaryVersion) {
    return fail(ErrorCode::kTooNew,
                fmt::format("the summary has version {} of the format, and this program reads "
                            "versions up to {}; use a newer TraceSmith, or summarize the trace "
                            "again with this one",
                            version, kSummaryVersion));
  }
  if (hash64(bytes.subspan(24)) != hash) return damaged("its checksum is wrong, or it is cut off");
  const auto size = header.fixed<uint64_t>();
  const ByteView packed = bytes.subspan(kHeaderBytes);
  const auto tooLarge = [&] {
    return fail(ErrorCode::kNoSpace,
                fmt::format("the summary takes more than {} MiB", most_bytes >> 20));
  };
  if (size > most_bytes) return tooLarge();
  if (ZSTD_getFrameContentSize(packed.data(), packed.size()) != size) {
    return damaged("its size is wrong");
  }
  Bytes body(static_cast<size_t>(size));
  if (ZSTD_decompress(body.data(), body.size(), packed.data(), packed.size()) != size) {
    return damaged("its body cannot be decompressed");
  }
  FleetSummary summary;
  uint64_t room = most_bytes - size;
  SummaryReader in(body, room);
  const bool is_taken = takeFields(in, summary) && in.ok();
  if (!is_taken && room == 0) return tooLarge();
  if (!is_taken) return damaged("its fields do not fit together");
  return summary;
}

}  // namespace tracesmith
