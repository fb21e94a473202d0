// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/symbols/symbolizer.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "tracesmith/base/demangle.hpp"
#include "tracesmith/model/frame_symbols.hpp"
#include "tracesmith/stacks/symbols/jit_code.hpp"
#include "tracesmith/stacks/symbols/module_symbols.hpp"

namespace tracesmith {
namespace {

/// How good an answer is: nothing, a function, a function and its line.
int rankOf(std::string_view function, uint32_t line) {
  return function.empty() ? 0 : line == 0 ? 1 : 2;
}

template <class Functions>
int rankOf(const Functions& functions) {
  int rank = 0;
  for (const auto& f : functions) rank = std::max(rank, rankOf(f.function, f.line));
  return rank;
}

uint64_t lookedUp(uint64_t offset, bool exact) {
  return exact || offset == 0 ? offset : offset - 1;
}

/// Answers for the frames of a trace, until all of them are known and can be written in order.
class Answers {
 public:
  explicit Answers(size_t frames) : of_frame_(frames, 0) { answers_.emplace_back(); }

  /// 0: nobody knows.
  uint32_t add(const std::vector<RawSymbol>& symbols) {
    if (symbols.empty()) return 0;
    std::vector<Level>& levels = answers_.emplace_back();
    for (const RawSymbol& s : symbols) levels.push_back({raw(s.function), raw(s.file), s.line});
    return static_cast<uint32_t>(answers_.size() - 1);
  }
  void give(size_t frame, uint32_t answer) { of_frame_[frame] = answer; }

  void write(Trace& trace, SymbolReport& report) {
    const std::vector<std::string> names = demangled(texts_);
    std::vector<StringId> ids(texts_.size(), StringId::kNone);
    const auto id = [&](uint32_t text, const std::string& shown) {
      if (ids[text] == StringId::kNone) ids[text] = trace.strings.intern(shown);
      return ids[text];
    };
    for (size_t f = 0; f < of_frame_.size(); ++f) {
      const std::vector<Level>& levels = answers_[of_frame_[f]];
      for (uint32_t level = 0; level < levels.size(); ++level) {
        const Level& l = levels[level];
        trace.symbol.push({.frame = idAt<FrameId>(f),
                           .inline_level = level,
                           .function = id(l.function, names[l.function]),
                           .file = id(l.file, texts_[l.file]),
                           .line = l.line});
      }
      if (!levels.empty()) report.inlined += levels.size() - 1;
    }
  }

 private:
  struct Level {
    uint32_t function, file;  // in texts_
    uint32_t line;
  };
  uint32_t raw(std::string_view text) {
    const auto [it, fresh] = numbers_.try_emplace(std::string(text), texts_.size());
    if (fresh) texts_.emplace_back(text);
    return static_cast<uint32_t>(it->second);
  }

  std::vector<uint32_t> of_frame_;
  std::vector<std::vector<Level>> answers_;
  std::vector<std::string> texts_;
  std::unordered_map<std::string, size_t> numbers_;
};

}  // namespace

uint64_t SymbolReport::unnamedInAll() const {
  return std::accumulate(unnamed.begin(), unnamed.end(), uint64_t{0});
}

Symbolizer::Symbolizer(SymbolizerOptions options)
    : options_(std::move(options)), files_(options_.debug_dirs) {}
Symbolizer::~Symbolizer() = default;

Symbolizer::Module& Symbolizer::moduleOf(const std::string& path, const std::string& build_id) {
  const auto [it, fresh] = modules_.try_emplace({path, build_id});
  Module& module = it->second;
  if (!fresh) return module;
  FoundFile found = files_.module(path, build_id);
  module.state = found.why;
  if (!isAvailable() && found.why == NoSymbol::kUnreadable) module.state = NoSymbol::kNoReader;
  if (module.state != NoSymbol::kNone) return module;
  module.symbols = std::make_unique<ModuleSymbols>(std::move(found), build_id, files_);
  module.state = module.symbols->state();
  return module;
}

std::vector<SymbolizedFrame> Symbolizer::lookup(const ModuleAddress& address) {
  std::vector<SymbolizedFrame> frames;
  Module& module = moduleOf(address.module, address.build_id);
  if (module.state != NoSymbol::kNone) return frames;
  std::vector<RawSymbol> symbols;
  module.symbols->find(lookedUp(address.offset, address.exact), symbols);
  for (const RawSymbol& s : symbols) {
    const auto [it, fresh] = names_.try_emplace(std::string(s.function));
    if (fresh) it->second = demangled({&it->first, 1}).front();
    frames.push_back({it->second, std::string(s.file), s.line});
  }
  return frames;
}

SymbolReport Symbolizer::symbolize(Trace& trace) {
  SymbolReport report;
  report.frames = trace.frame.size();
  struct Wanted {
    StringId module;
    StringId build_id;
    uint64_t address;
    uint32_t frame;
    int rank;  // of what is known already
    auto place() const { return std::tie(module, build_id, address); }
  };
  std::vector<Wanted> wanted;
  std::vector<Wanted> made;  // in no module: by a just-in-time compiler, perhaps
  const FrameSymbols known(trace);
  std::vector<FrameFunction> functions;
  for (uint32_t f = 0; f < trace.frame.size(); ++f) {
    known.functions(idAt<FrameId>(f), functions);
    const int rank = rankOf(functions);
    const FrameRow row = trace.frame.row(f);
    const bool exact = (row.flags & frame_flags::kExact) != 0;
    const bool in_module = !trace.text(row.module).empty() && !isMadeCode(trace.text(row.module));
    if (rank < 2 && in_module && row.module_offset != 0) {
      wanted.push_back({row.module, row.build_id, lookedUp(row.module_offset, exact), f, rank});
    } else if (rank == 0 && !in_module && row.address != 0) {
      made.push_back({row.module, row.build_id, lookedUp(row.address, exact), f, rank});
    } else if (rank > 0) {
      ++report.had_names;
    } else {
      ++report.unnamed[static_cast<size_t>(NoSymbol::kNoModule)];
    }
  }
  Answers answers(trace.frame.size());
  const auto take = [&](const Wanted& w, uint32_t answer, int rank, NoSymbol why) {
    if (answer != 0 && rank > w.rank) {
      answers.give(w.frame, answer);
      ++report.named;
      if (w.rank > 0) ++report.replaced;
      if (rank == 2) ++report.with_line;
    } else if (w.rank > 0) {
      ++report.had_names;
    } else {
      ++report.unnamed[static_cast<size_t>(why)];
    }
  };

  std::vector<RawSymbol> symbols;
  std::sort(wanted.begin(), wanted.end(), [](const Wanted& a, const Wanted& b) {
    return std::tuple(a.place(), a.frame) < std::tuple(b.place(), b.frame);
  });
  for (size_t i = 0; i < wanted.size();) {
    const std::string path(trace.text(wanted[i].module));
    const std::string build_id(trace.text(wanted[i].build_id));
    Module& module = moduleOf(path, build_id);
    SymbolReport::Module& said =
        report.modules.emplace_back(SymbolReport::Module{path, module.state, "", 0, 0});
    if (module.symbols) said.debug_file = module.symbols->debugFile();
    const uint64_t named_before = report.named;
    const StringId of_module = wanted[i].module;
    const StringId of_build = wanted[i].build_id;
    while (i < wanted.size() && wanted[i].module == of_module && wanted[i].build_id == of_build) {
      symbols.clear();
      if (module.state == NoSymbol::kNone) module.symbols->find(wanted[i].address, symbols);
      const int rank = rankOf(symbols);
      const uint32_t answer = answers.add(symbols);
      const NoSymbol why = module.state == NoSymbol::kNone ? NoSymbol::kNoSymbols : module.state;
      const uint64_t address = wanted[i].address;
      for (; i < wanted.size() && wanted[i].module == of_module && wanted[i].build_id == of_build &&
             wanted[i].address == address;
           ++i, ++said.frames) {
        take(wanted[i], answer, rank, why);
      }
    }
    said.named = report.named - named_before;
    // Debug information takes memory, and the next module has its own.
    modules_.erase({path, build_id});
  }
  std::sort(report.modules.begin(), report.modules.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });

  if (!made.empty()) {
    MadeCode code(trace, options_.perf_map_dir);
    for (const Wanted& w : made) {
      NoSymbol why = NoSymbol::kNoModule;
      const std::string_view name = code.find(idAt<FrameId>(w.frame), w.address, why);
      symbols.clear();
      if (!name.empty()) symbols.push_back({name, {}, 0});
      take(w, answers.add(symbols), rankOf(symbols), why);
    }
  }
  answers.write(trace, report);
  return report;
}

}  // namespace tracesmith
