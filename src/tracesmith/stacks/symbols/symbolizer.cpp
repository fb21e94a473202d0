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

/// Quality of an answer: nothing, a function, a function and its line.
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

/// Answers for the frames of a trace, kept until all are known and can be written in order.
class Answers {
 public:
  explicit Answers(size_t frames) : of_frame_(frames, 0) { answers_.emplace_back(); }

  /// Returns an answer's id; 0: no symbols.
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

/// Names the frames of one trace.
class Symbolizer::Pass {
 public:
  Pass(Symbolizer& symbolizer, Trace& trace)
      : symbolizer_(symbolizer), trace_(trace), answers_(trace.frame.size()) {}
  SymbolReport run();

 private:
  /// A frame without a name, or with one that can be improved.
  struct Wanted {
    StringId module;
    StringId build_id;
    uint64_t address;
    uint32_t frame;
    int rank;  // quality of what is already known
    auto place() const { return std::tie(module, build_id, address); }
    bool isInModuleOf(const Wanted& other) const {
      return module == other.module && build_id == other.build_id;
    }
  };
  void findWanted();
  void nameInModules();
  /// Names the frames from `i` on that are in one module; returns the index of the first in
  /// another.
  size_t nameInModule(size_t i, Module& module, SymbolReport::Module& said);
  void nameJitCode();
  void take(const Wanted& w, uint32_t answer, int rank, NoSymbol why);

  Symbolizer& symbolizer_;
  Trace& trace_;
  SymbolReport report_;
  Answers answers_;
  std::vector<Wanted> in_modules_;
  std::vector<Wanted> made_;  // in no module, possibly from a just-in-time compiler
  std::vector<RawSymbol> symbols_;
};

void Symbolizer::Pass::findWanted() {
  const FrameSymbols known(trace_);
  std::vector<FrameFunction> functions;
  for (uint32_t f = 0; f < trace_.frame.size(); ++f) {
    known.functions(idAt<FrameId>(f), functions);
    const int rank = rankOf(functions);
    const FrameRow row = trace_.frame.row(f);
    const bool exact = (row.flags & frame_flags::kExact) != 0;
    const std::string_view module = trace_.text(row.module);
    const bool in_module = !module.empty() && !isAnonymousMapping(module);
    if (rank < 2 && in_module && row.module_offset != 0) {
      in_modules_.push_back(
          {row.module, row.build_id, lookedUp(row.module_offset, exact), f, rank});
    } else if (rank == 0 && !in_module && row.address != 0) {
      made_.push_back({row.module, row.build_id, lookedUp(row.address, exact), f, rank});
    } else if (rank > 0) {
      ++report_.had_names;
    } else {
      ++report_.unnamed[static_cast<size_t>(NoSymbol::kNoModule)];
    }
  }
}

void Symbolizer::Pass::take(const Wanted& w, uint32_t answer, int rank, NoSymbol why) {
  if (answer != 0 && rank > w.rank) {
    answers_.give(w.frame, answer);
    ++report_.named;
    if (w.rank > 0) ++report_.replaced;
    if (rank == 2) ++report_.with_line;
  } else if (w.rank > 0) {
    ++report_.had_names;
  } else {
    ++report_.unnamed[static_cast<size_t>(why)];
  }
}

void Symbolizer::Pass::nameInModules() {
  std::sort(in_modules_.begin(), in_modules_.end(), [](const Wanted& a, const Wanted& b) {
    return std::tuple(a.place(), a.frame) < std::tuple(b.place(), b.frame);
  });
  for (size_t i = 0; i < in_modules_.size();) {
    const std::string path(trace_.text(in_modules_[i].module));
    const std::string build_id(trace_.text(in_modules_[i].build_id));
    Module& module = symbolizer_.moduleOf(path, build_id);
    SymbolReport::Module& said =
        report_.modules.emplace_back(SymbolReport::Module{path, module.state, "", 0, 0});
    if (module.symbols) said.debug_file = module.symbols->debugFile();
    const uint64_t named_before = report_.named;
    i = nameInModule(i, module, said);
    said.named = report_.named - named_before;
    // Debug information takes memory, and the next module has its own.
    symbolizer_.modules_.erase({path, build_id});
  }
  std::sort(report_.modules.begin(), report_.modules.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });
}

size_t Symbolizer::Pass::nameInModule(size_t i, Module& module, SymbolReport::Module& said) {
  const Wanted first = in_modules_[i];
  while (i < in_modules_.size() && in_modules_[i].isInModuleOf(first)) {
    const Wanted here = in_modules_[i];
    symbols_.clear();
    if (module.state == NoSymbol::kNone) module.symbols->find(here.address, symbols_);
    const int rank = rankOf(symbols_);
    const uint32_t answer = answers_.add(symbols_);
    const NoSymbol why = module.state == NoSymbol::kNone ? NoSymbol::kNoSymbols : module.state;
    for (; i < in_modules_.size() && in_modules_[i].place() == here.place(); ++i, ++said.frames) {
      take(in_modules_[i], answer, rank, why);
    }
  }
  return i;
}

void Symbolizer::Pass::nameJitCode() {
  if (made_.empty()) return;
  JitCode code(trace_, symbolizer_.options_.perf_map_dir);
  for (const Wanted& w : made_) {
    NoSymbol why = NoSymbol::kNoModule;
    const std::string_view name = code.find(idAt<FrameId>(w.frame), w.address, why);
    symbols_.clear();
    if (!name.empty()) symbols_.push_back({name, {}, 0});
    take(w, answers_.add(symbols_), rankOf(symbols_), why);
  }
}

SymbolReport Symbolizer::Pass::run() {
  report_.frames = trace_.frame.size();
  findWanted();
  nameInModules();
  nameJitCode();
  answers_.write(trace_, report_);
  return std::move(report_);
}

SymbolReport Symbolizer::symbolize(Trace& trace) { return Pass(*this, trace).run(); }

}  // namespace tracesmith
