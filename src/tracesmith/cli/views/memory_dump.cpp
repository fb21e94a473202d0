// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/views/memory_dump.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tracesmith/replay/check/typed_difference.hpp"

namespace tracesmith::cli {
namespace {

void writeHex(ByteView bytes, Output& out) {
  constexpr size_t kRow = 16;
  ByteView before;
  bool skipping = false;
  for (size_t at = 0; at < bytes.size(); at += kRow) {
    const ByteView row = bytes.subspan(at, std::min(kRow, bytes.size() - at));
    if (at != 0 && std::equal(row.begin(), row.end(), before.begin(), before.end())) {
      if (!skipping) out.write("*\n");
      skipping = true;
      continue;
    }
    skipping = false;
    before = row;
    std::string line = fmt::format("{:08x} ", at);
    for (size_t i = 0; i < kRow; ++i) {
      line += i < row.size() ? fmt::format("{}{:02x}", i == 8 ? "  " : " ", row[i])
                             : (i == 8 ? "    " : "   ");
    }
    line += "  |";
    for (const uint8_t b : row) line += b >= 0x20 && b < 0x7f ? static_cast<char>(b) : '.';
    out.write(line + "|\n");
  }
  out.write(fmt::format("{:08x}\n", bytes.size()));
}

void writeValues(ByteView bytes, ElementType type, Output& out) {
  const uint64_t size = elementBytes(type);
  constexpr size_t kInRow = 8;
  for (size_t i = 0; i < bytes.size() / size; ++i) {
    if (i % kInRow == 0) out.write(fmt::format("{}{:8}:", i == 0 ? "" : "\n", i));
    out.write(" " + elementText(bytes.subspan(i * size, size), type));
  }
  out.put('\n');
}

void writeStats(ByteView bytes, Output& out) {
  std::array<uint64_t, 256> counts{};
  for (const uint8_t b : bytes) ++counts[b];
  double entropy = 0;
  uint64_t distinct = 0;
  for (const uint64_t n : counts) {
    if (n == 0) continue;
    ++distinct;
    const double p = static_cast<double>(n) / static_cast<double>(bytes.size());
    entropy -= p * std::log2(p);
  }
  out.write(fmt::format("bytes     {}\nzeros     {}\ndistinct  {}\nentropy   {:.3f} bits a byte\n",
                        bytes.size(), counts[0], distinct, entropy));
  uint64_t nan = 0;
  uint64_t infinite = 0;
  uint64_t finite = 0;
  double low = INFINITY;
  double high = -INFINITY;
  double sum = 0;
  for (size_t at = 0; at + sizeof(float) <= bytes.size(); at += sizeof(float)) {
    const auto v = static_cast<double>(loadFixed<float>(bytes.data() + at));
    if (std::isnan(v)) {
      ++nan;
    } else if (std::isinf(v)) {
      ++infinite;
    } else {
      ++finite;
      low = std::min(low, v);
      high = std::max(high, v);
      sum += v;
    }
  }
  if (finite != 0) {
    out.write(fmt::format("as float  {:.9g} to {:.9g}, mean {:.9g}; {} NaN, {} infinite\n", low,
                          high, sum / static_cast<double>(finite), nan, infinite));
  }
}

}  // namespace

void writeMemoryDump(const ReplayPlan& plan, const Dump& dump, const std::string& form,
                     Output& out) {
  if (form == "raw") {
    out.write({reinterpret_cast<const char*>(dump.bytes.data()), dump.bytes.size()});
    return;
  }
  const std::string when =
      dump.request.launch == 0
          ? std::string("at the end")
          : fmt::format("{} launch {} ({})", dump.request.before ? "before" : "after",
                        dump.request.launch,
                        plan.kernelName(plan.step(plan.launch(dump.request.launch))));
  out.write(
      fmt::format("\n{} {}, {} bytes\n", plan.objectName(dump.memory), when, dump.bytes.size()));
  if (form == "stats") {
    writeStats(dump.bytes, out);
  } else if (form == "hex") {
    writeHex(dump.bytes, out);
  } else {
    writeValues(dump.bytes, elementTypeOf(form), out);
  }
}

}  // namespace tracesmith::cli
