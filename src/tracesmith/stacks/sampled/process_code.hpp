// SPDX-License-Identifier: Apache-2.0
// Where the code of a process lies, from its memory map and what the kernel says about changes.
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tracesmith/base/result.hpp"
#include "tracesmith/stacks/sampled/code_image.hpp"
#include "tracesmith/stacks/unwind/stepper.hpp"

namespace tracesmith::stacks {

/// A part of an address space that contains code.
struct CodeMapping {
  uint64_t begin = 0, end = 0;
  uint64_t file_offset = 0;
  uint64_t device = 0, inode = 0;  ///< of the file; 0: there is none
  std::string path;                ///< as the process sees it; "[vdso]"; "": generated code
};

/// The file of a mapping; the process may be in another mount namespace, and the file may be gone.
OpenFile openMapped(pid_t pid, const CodeMapping& mapping);

/// Images of files, each read once. Holds a quarter of the files that this process may have open.
class CodeImages {
 public:
  CodeImages();
  /// The file of a mapping of process `pid`; nullptr: it cannot be read, or is another one now.
  std::shared_ptr<const CodeImage> imageOf(pid_t pid, const CodeMapping& mapping);

 private:
  struct Key {
    uint64_t device, inode, bytes;
    int64_t changed_ns;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, std::shared_ptr<const CodeImage>> images_;
  std::deque<std::weak_ptr<CodeImage>> open_;  // the oldest first
  size_t most_open_ = 0;
  std::shared_ptr<const CodeImage> vdso_;
};

/// The code of one process at one time. A forked child begins with a copy of its parent's.
class ProcessCode final : public EntrySource {
 public:
  ProcessCode(pid_t pid, std::shared_ptr<CodeImages> images)
      : pid_(pid), images_(std::move(images)) {}

  /// Reads the map of the process as it is now.
  Status readMap();
  /// What the kernel mapped; replaces what it covers.
  void add(CodeMapping mapping);
  /// After exec.
  void clear() { mappings_.clear(); }
  ProcessCode copyFor(pid_t child) const;

  bool find(uint64_t address, CfiEntry& out, uint64_t& place) override;
  /// Reads a word of code, or of constants beside it: from the file, or from the process.
  bool readWord(uint64_t address, uint64_t& out);

  struct Place {
    const CodeMapping* mapping = nullptr;  ///< nullptr: there is no code
    const CodeImage* image = nullptr;      ///< nullptr: generated code, or a file that is gone
    uint64_t address = 0;                  ///< in the file of the image
  };
  Place placeOf(uint64_t address);
  /// All that it has now, by address.
  std::vector<CodeMapping> mappings() const;

 private:
  struct Mapped {
    CodeMapping mapping;
    bool is_opened = false;
    std::shared_ptr<const CodeImage> image;
    uint64_t bias = 0;  // address in memory minus address in the file
  };
  Mapped* mappedAt(uint64_t address);

  pid_t pid_;
  std::shared_ptr<CodeImages> images_;
  std::map<uint64_t, Mapped> mappings_;  // by begin
};

}  // namespace tracesmith::stacks
