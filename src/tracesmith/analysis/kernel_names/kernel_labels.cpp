// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/analysis/kernel_names/kernel_labels.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <unordered_set>

#include "tracesmith/analysis/kernel_names/function_name.hpp"
#include "tracesmith/base/hash.hpp"
#include "tracesmith/model/trace.hpp"

namespace tracesmith {
namespace {

constexpr size_t kLongestWord = 24;

/// Identifiers and numbers, which are also the words of a coded name. `all`: with namespaces and
/// with what follows the template arguments; these differ between versions of a library, too.
std::vector<std::string_view> wordsOf(std::string_view name, bool all) {
  std::vector<std::string_view> words;
  name = name.substr(0, kExaminedBytes);
  if (!all) name = splitFunctionName(name).head;
  const auto in_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  for (size_t i = 0; i < name.size();) {
    size_t end = i;
    while (end < name.size() && in_word(name[end])) ++end;
    const std::string_view word = name.substr(i, end - i);
    const bool names_scope = name.substr(end, 2) == "::" || word == "const" || word == "unsigned";
    if (end > i && (all || !names_scope)) words.push_back(word);
    i = end + 1;
  }
  return words;
}

std::string hashed(std::string_view name) {
  char text[24];
  const uint64_t hash = hash64({reinterpret_cast<const uint8_t*>(name.data()), name.size()});
  std::snprintf(text, sizeof text, "#%016llx", static_cast<unsigned long long>(hash));
  return text;
}

size_t distinctOf(const std::vector<std::string>& texts) {
  return std::unordered_set<std::string_view>(texts.begin(), texts.end()).size();
}

/// The one or two words that tell these names apart best. They are sorted, so order does not
/// matter.
std::vector<std::string> differingWords(const std::vector<std::string_view>& names, bool all) {
  std::vector<std::vector<std::string_view>> words;
  size_t longest = 0;
  for (const std::string_view name : names) {
    words.push_back(wordsOf(name, all));
    longest = std::max(longest, words.back().size());
  }
  std::vector<std::string> best(names.size());
  // Two words at most; each time the place that separates most.
  for (int round = 0; round < 2 && distinctOf(best) < names.size(); ++round) {
    std::vector<std::string> chosen = best;
    size_t most = distinctOf(best);
    for (size_t place = 0; place < longest && most < names.size(); ++place) {
      std::vector<std::string> tried = best;
      bool usable = true;
      bool differs = false;
      for (size_t i = 0; i < names.size() && usable; ++i) {
        const std::string_view word =
            place < words[i].size() ? words[i][place] : std::string_view("-");
        usable = word.size() <= kLongestWord;
        differs = differs || word != (place < words[0].size() ? words[0][place] : "-");
        if (!tried[i].empty()) tried[i] += ' ';
        tried[i] += word;
      }
      if (!usable || !differs) continue;
      if (const size_t distinct = distinctOf(tried); distinct > most) {
        most = distinct;
        chosen = std::move(tried);
      }
    }
    best = std::move(chosen);
  }
  return best;
}

std::vector<std::string> differences(const std::vector<std::string_view>& names) {
  // More names than this rarely differ in a word or two, and trying costs names times words.
  constexpr size_t kMostCompared = 64;
  if (names.size() <= kMostCompared) {
    std::vector<std::string> texts;  // of mangled names
    texts.reserve(names.size());
    std::vector<std::string_view> readable = names;
    for (std::string_view& name : readable) {
      if (name.starts_with("_Z")) {
        name = texts.emplace_back(readMangledName(name.substr(0, kExaminedBytes)));
      }
    }
    for (const bool all : {false, true}) {
      std::vector<std::string> words = differingWords(readable, all);
      if (distinctOf(words) == names.size()) return words;
    }
  }
  std::vector<std::string> hashes;
  for (const std::string_view name : names) hashes.push_back(hashed(name));
  return hashes;
}

}  // namespace

std::vector<std::string> distinctLabels(std::span<const std::string_view> names) {
  std::map<std::string, std::set<std::string_view>> groups;  // by short name
  std::unordered_map<std::string_view, std::string> labels;
  for (const std::string_view name : names) {
    if (labels.try_emplace(name).second) groups[readKernelName(name).short_name].insert(name);
  }
  std::unordered_map<std::string, size_t> uses;
  for (const auto& [short_name, group] : groups) {
    const std::vector<std::string_view> sorted(group.begin(), group.end());
    const std::vector<std::string> suffixes =
        sorted.size() > 1 ? differences(sorted) : std::vector<std::string>(1);
    for (size_t i = 0; i < sorted.size(); ++i) {
      std::string& label = labels[sorted[i]];
      label = short_name;
      if (!suffixes[i].empty()) label += " [" + suffixes[i] + "]";
      ++uses[label];
    }
  }
  std::vector<std::string> out;
  for (const std::string_view name : names) {
    const std::string& label = labels[name];
    // A name may look like another one's label.
    out.push_back(uses[label] > 1 ? label + " " + hashed(name) : label);
  }
  return out;
}

KernelLabels::KernelLabels(const Trace& trace) {
  std::vector<bool> seen(trace.strings.size() + 1, false);
  std::vector<StringId> ids;
  for (const StringId id : trace.kernel.name) {
    const auto i = static_cast<size_t>(id);
    if (i >= seen.size() || seen[i]) continue;
    seen[i] = true;
    ids.push_back(id);
  }
  *this = KernelLabels(trace.strings, ids);
}

KernelLabels::KernelLabels(const StringTable& texts, std::span<const StringId> ids) {
  std::vector<std::string_view> names;
  names.reserve(ids.size());
  for (const StringId id : ids) names.push_back(texts.at(id));
  std::vector<std::string> labels = distinctLabels(names);
  for (size_t i = 0; i < names.size(); ++i) labels_.try_emplace(names[i], std::move(labels[i]));
}

std::string_view KernelLabels::label(std::string_view name) const {
  const auto found = labels_.find(name);
  return found == labels_.end() ? name : std::string_view(found->second);
}

}  // namespace tracesmith
