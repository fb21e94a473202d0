// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/kernel_names/coded_name.hpp"

#include <algorithm>

#include "tracesmith/analysis/kernel_names/data_types.hpp"
#include "tracesmith/analysis/kernel_names/name_bytes.hpp"

namespace tracesmith {
namespace {

/// Calls each(word) for the words between underscores until it returns false.
template <class Each>
void forWords(std::string_view name, Each&& each) {
  while (true) {
    const size_t end = std::min(name.find('_'), name.size());
    if (end > 0 && !each(name.substr(0, end))) return;
    if (end == name.size()) return;
    name.remove_prefix(end + 1);
  }
}

/// "128x64" of "128x64", "tilesize128x64", "MT128x64"; "" if the word is no such size.
std::string_view sizesIn(std::string_view word) {
  size_t begin = 0;
  while (begin < word.size() && name_bytes::isLetter(word[begin])) ++begin;
  const std::string_view prefix = word.substr(0, begin);
  if (!prefix.empty() && prefix != "tilesize" && prefix != "MT" && prefix != "bt" &&
      prefix != "tile") {
    return {};
  }
  size_t end = begin;
  int numbers = 0;
  while (end < word.size() && name_bytes::isDigit(word[end])) {
    while (end < word.size() && name_bytes::isDigit(word[end])) ++end;
    ++numbers;
    if (end + 1 >= word.size() || word[end] != 'x' || !name_bytes::isDigit(word[end + 1])) break;
    ++end;
  }
  return numbers >= 2 && end == word.size() ? word.substr(begin, end - begin) : std::string_view{};
}

std::string layoutIn(std::string_view word) {
  if (word == "nn" || word == "nt" || word == "tn" || word == "tt") return std::string(word);
  if (word == "nhwc" || word == "nchw" || word == "ndhwc" || word == "ncdhw") {
    return std::string(word);
  }
  // Letters for A, B and the result: TNN.
  const bool upper = word.size() == 3 && std::all_of(word.begin(), word.end(),
                                                     [](char c) { return c == 'N' || c == 'T'; });
  if (!upper) return {};
  return {word[0] == 'N' ? 'n' : 't', word[1] == 'N' ? 'n' : 't'};
}

/// CUTLASS writes 128x64_32x3: a tile of 128 x 64, 32 deep, in 3 stages.
void addDepth(std::string& tile, std::string_view sizes) {
  if (std::count(tile.begin(), tile.end(), 'x') == 1) {
    tile += 'x';
    tile += sizes.substr(0, sizes.find('x'));
  }
}

/// The types of Tensile, by the first letter of HHS, BBS, SB: half, bfloat16, single precision.
std::string_view tensileType(std::string_view word) {
  if (word.starts_with("F8")) return "e4m3";
  if (word.starts_with("B8")) return "e5m2";
  if (word.starts_with("I8")) return "i8";
  switch (word.empty() ? ' ' : word[0]) {
    case 'H':
      return "f16";
    case 'B':
      return "bf16";
    case 'S':
      return "f32";
    case 'D':
      return "f64";
    case 'C':
      return "c64";
    case 'Z':
      return "c128";
    case 'X':
      return "tf32";
    default:
      return {};
  }
}

/// Cijk_Ailk_Bljk: index l is summed, so A is stored as i x l (n) or l x i (t).
CodedName readTensile(std::string_view name) {
  CodedName out{"tensile_gemm", {}, {}, {}};
  int place = 0;
  forWords(name, [&](std::string_view word) {
    if (place == 1) out.layout = word.starts_with("Ail") ? "n" : "t";
    if (place == 2) out.layout += word.starts_with("Blj") ? "n" : "t";
    if (place == 3) out.data_type = tensileType(word);
    if (place > 3 && word.starts_with("MT")) out.tile = sizesIn(word);
    ++place;
    return out.tile.empty();
  });
  return out;
}

std::string_view nvjetType(std::string_view word) {
  switch (word.empty() ? ' ' : word[0]) {
    case 'h':
      return "f16";
    case 't':
      return "bf16";
    case 's':
      return "f32";
    case 'd':
      return "f64";
    case 'q':
      return "e4m3";
    case 'r':
      return "e5m2";
    default:
      return {};
  }
}

CodedName readNvjet(std::string_view name) {
  CodedName out{"nvjet_gemm", {}, {}, {}};
  int place = 0;
  forWords(name, [&](std::string_view word) {
    const std::string_view sizes = sizesIn(word);
    if (place == 1) out.data_type = nvjetType(word);
    if (place > 1 && !sizes.empty() && out.tile.empty()) {
      out.tile = sizes;
    } else if (place == 3 && !sizes.empty()) {
      addDepth(out.tile, sizes);
    }
    if (const std::string layout = layoutIn(word); !layout.empty()) out.layout = layout;
    ++place;
    return true;
  });
  return out;
}

/// Words that name neither the operation nor a code that is shown.
bool isArchitecture(std::string_view word) {
  if (word.starts_with("sm") && word.size() >= 4 && name_bytes::isDigit(word[2])) return true;
  if (word.starts_with("gtc")) return true;  // MIOpen's instructions
  return std::all_of(word.begin(), word.end(), name_bytes::isDigit);
}

/// s1688gemm: an instruction's shape and the operation; "gemm".
std::string_view withoutInstruction(std::string_view word) {
  if (!word.ends_with("gemm") && !word.ends_with("fprop") && !word.ends_with("dgrad") &&
      !word.ends_with("wgrad")) {
    return word;
  }
  size_t digits = 0;
  for (size_t i = 0; i < word.size(); ++i) {
    if (name_bytes::isDigit(word[i])) digits = i + 1;
  }
  // tf32 in s1688tf32gemm is a type; its digits end there as well.
  return digits > 2 ? word.substr(digits) : word;
}

}  // namespace

CodedName readCodedName(std::string_view name) {
  if (name.starts_with("Cijk_")) return readTensile(name);
  if (name.starts_with("nvjet_")) return readNvjet(name);
  CodedName out;
  bool after_tile = false;
  forWords(name, [&](std::string_view word) {
    const std::string_view sizes = sizesIn(word);
    if (!sizes.empty()) {
      if (out.tile.empty()) {
        out.tile = sizes;
        after_tile = true;
      } else if (after_tile) {
        addDepth(out.tile, sizes);
        after_tile = false;
      }
      return true;
    }
    after_tile = false;
    if (const std::string layout = layoutIn(word); !layout.empty()) {
      // NHWC says more than the order of a product's operands.
      if (out.layout.empty()) out.layout = layout;
      return true;
    }
    const std::string_view type = leadingDataType(word);
    if (!type.empty()) {
      if (out.data_type.empty()) out.data_type = type;
      return true;
    }
    if (!out.tile.empty() || isArchitecture(word) || word == "tensorop") return true;
    // After types only what is a word still names the operation: gemm_relu in ..._bf16_gemm_relu.
    const std::string_view operation = withoutInstruction(word);
    if (operation.size() < 2 ||
        std::any_of(operation.begin(), operation.end(), name_bytes::isDigit)) {
      return out.operation.size() < 64;
    }
    if (!out.operation.empty()) out.operation += '_';
    out.operation += operation;
    return out.operation.size() < 64;
  });
  return out;
}

}  // namespace tracesmith
