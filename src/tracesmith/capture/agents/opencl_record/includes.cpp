// SPDX-License-Identifier: Apache-2.0
// Files that a program's source includes. They belong to the host, and may be missing or different
// at replay, so their content is recorded before the build. At that time it is unknown which
// conditions hold and where the driver looks first. So every file that one of the names could mean
// is recorded.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracesmith/base/build_options.hpp"
#include "tracesmith/capture/agents/core/no_cancel.hpp"
#include "tracesmith/capture/agents/opencl_record/recorder.hpp"

namespace rec = tracesmith::recording;

namespace tracesmith::record {
namespace {

constexpr uint64_t kMostFiles = 1000;
constexpr uint64_t kMostFolders = 64;
constexpr off_t kMostFileBytes = 16 << 20;

struct Path {
  char text[PATH_MAX];
};

struct File {
  Path path;    // as an #include named it
  Path normal;  // without dots: different names of one file are equal
  bool is_new;  // no earlier name means this file
};

/// Memory that is freed at the end of the scope.
class Memory {
 public:
  explicit Memory(uint64_t bytes) : p_(static_cast<char*>(malloc(bytes))) {}
  ~Memory() { free(p_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  char* get() const { return p_; }

 private:
  char* p_;
};

/// folder/name, or `name` if that is an absolute path. False: too long.
bool join(const char* folder, const char* name, size_t length, Path& out) {
  const bool is_whole = length > 0 && name[0] == '/';
  const int n =
      is_whole
          ? snprintf(out.text, sizeof out.text, "%.*s", static_cast<int>(length), name)
          : snprintf(out.text, sizeof out.text, "%s/%.*s", folder, static_cast<int>(length), name);
  return n > 0 && static_cast<size_t>(n) < sizeof out.text;
}

/// Removes "." and "..", by the text alone.
Path normalised(const Path& path) {
  Path out;
  size_t n = 0;
  for (const char* p = path.text; *p != 0;) {
    while (*p == '/') ++p;
    size_t length = strcspn(p, "/");
    if (length == 2 && p[0] == '.' && p[1] == '.') {
      while (n > 0 && out.text[--n] != '/') {
      }
    } else if (length > 0 && !(length == 1 && p[0] == '.')) {
      out.text[n++] = '/';
      memcpy(out.text + n, p, length);
      n += length;
    }
    p += length;
  }
  out.text[n] = 0;
  return out;
}

bool isSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

class Includes {
 public:
  Includes(cl_program program, const char* options) : program_(program) {
    if (getcwd(folder_.text, sizeof folder_.text) == nullptr) strcpy(folder_.text, "/");
    readOptions(options);
  }
  ~Includes() {
    folders_.free();
    files_.free();
    defined_.free();
  }
  Includes(const Includes&) = delete;
  Includes& operator=(const Includes&) = delete;

  /// Takes the files named by `text`, whose file is in `folder`, and the files that these name.
  void takeAll(const char* text, size_t bytes) {
    scan(text, bytes, folder_.text);
    for (uint64_t taken = 0;;) {
      while (taken < files_.size()) take(taken++);
      // Only now are the macros known; the files that they name may define others.
      if (!by_macro_ || defined_tried_ == defined_.size()) break;
      addDefined();
    }
    if (by_macro_ && !macro_names_file_) incomplete_ = true;
    if (incomplete_) recordMissingIncludes();
  }

 private:
  /// Reads the -I folders, and macros that could name a file.
  void readOptions(const char* text) {
    if (text == nullptr) return;
    BuildOptions options(text);
    for (BuildOption option; options.next(option);) {
      const bool is_folder = option.kind == BuildOptionKind::kFolder;
      if (!is_folder && option.kind != BuildOptionKind::kDefine) continue;
      Path value;
      if (option.copyValue(value.text, sizeof value.text) >= sizeof value.text) {
        incomplete_ |= is_folder;  // such a macro does not name a file
        continue;
      }
      if (!is_folder) {
        const char* const name = strchr(value.text, '=');
        if (name != nullptr) defined_.add(named(name + 1));
        continue;
      }
      Path folder;
      if (*value.text == 0 || !join(folder_.text, value.text, strlen(value.text), folder)) continue;
      if (folders_.size() < kMostFolders) {
        folders_.add(folder);
      } else {
        incomplete_ = true;
      }
    }
  }

  /// "x.h" and <x.h> without the delimiters.
  static Path named(const char* text) {
    Path name;
    const bool bracketed = *text == '<' || *text == '"';
    const size_t length = strcspn(bracketed ? text + 1 : text, bracketed ? ">\"" : "");
    snprintf(name.text, sizeof name.text, "%.*s", static_cast<int>(length),
             bracketed ? text + 1 : text);
    return name;
  }

  /// Adds the files that the #include lines of `text` could mean.
  void scan(const char* text, size_t bytes, const char* own_folder) {
    const char* const end = text + bytes;
    for (const char* at = text; at < end;) {
      const char* line_end =
          static_cast<const char*>(memchr(at, '\n', static_cast<size_t>(end - at)));
      if (line_end == nullptr) line_end = end;
      const char* p = at;
      at = line_end + 1;
      const auto skip = [&] {
        while (p < line_end && isSpace(*p)) ++p;
      };
      skip();
      if (p == line_end || *p++ != '#') continue;
      skip();
      if (takeWordOf("define", p, line_end)) {
        noteMacro(p, line_end);
        continue;
      }
      if (!takeWordOf("include", p, line_end)) continue;
      skip();
      if (p == line_end) continue;
      if (*p != '"' && *p != '<') {
        by_macro_ = true;
        continue;
      }
      const char closes = *p == '"' ? '"' : '>';
      const char* const name = ++p;
      while (p < line_end && *p != closes) ++p;
      if (p < line_end && p > name) addNamed(name, static_cast<size_t>(p - name), own_folder);
    }
  }

  static bool takeWordOf(const char* word, const char*& p, const char* end) {
    const size_t length = strlen(word);
    if (static_cast<size_t>(end - p) < length || memcmp(p, word, length) != 0) return false;
    p += length;
    return true;
  }

  /// `#define NAME "x.h"` or <x.h>.
  void noteMacro(const char* p, const char* end) {
    while (p < end && *p != '"' && *p != '<') ++p;
    if (p == end || defined_.size() >= kMostFiles) return;
    const char closes = *p == '"' ? '"' : '>';
    const char* const name = ++p;
    while (p < end && *p != closes) ++p;
    Path path;
    if (p < end && p > name && static_cast<size_t>(p - name) < sizeof path.text) {
      memcpy(path.text, name, static_cast<size_t>(p - name));
      path.text[p - name] = 0;
      defined_.add(path);
    }
  }

  /// Adds the files that an #include with a macro could mean: every text of every macro.
  void addDefined() {
    for (; defined_tried_ < defined_.size(); ++defined_tried_) {
      const Path name = defined_[defined_tried_];
      const size_t length = strlen(name.text);
      if (length == 0) continue;
      macro_names_file_ |= addNamed(name.text, length, folder_.text);
      for (uint64_t i = 0, count = files_.size(); i < count; ++i) {
        macro_names_file_ |= add(folderOf(files_[i].path).text, name.text, length);
      }
    }
  }

  /// True: it could mean a file.
  bool addNamed(const char* name, size_t length, const char* own_folder) {
    bool found = add(own_folder, name, length);
    if (*name == '/') return found;
    for (const Path& folder : folders_) found |= add(folder.text, name, length);
    return add(folder_.text, name, length) || found;
  }

  bool add(const char* folder, const char* name, size_t length) {
    File file;
    if (!join(folder, name, length, file.path)) return false;
    struct stat is;
    if (stat(file.path.text, &is) != 0 || !S_ISREG(is.st_mode)) return false;
    file.normal = normalised(file.path);
    file.is_new = true;
    for (const File& known : files_) {
      if (strcmp(known.path.text, file.path.text) == 0) return true;
      if (strcmp(known.normal.text, file.normal.text) == 0) file.is_new = false;
    }
    if (files_.size() < kMostFiles && is.st_size <= kMostFileBytes) {
      files_.add(file);
    } else {
      incomplete_ = true;
    }
    return true;
  }

  static Path folderOf(Path path) {
    if (char* const slash = strrchr(path.text, '/')) *slash = 0;
    return path;
  }

  /// Records that the program may not compile at replay.
  void recordMissingIncludes() {
    constexpr char kWhat[] = "clBuildProgram() whose included files are not all recorded";
    rec::Unsupported c;
    c.function = {kWhat, sizeof kWhat - 1};
    const int64_t now = nowNs();
    put(c, {now, now, 0, rec::command_flags::kAddedByAgent});
  }

  void take(uint64_t i) {
    const File file = files_[i];
    const int fd = open(file.path.text, O_RDONLY | O_CLOEXEC);
    const Memory memory(static_cast<uint64_t>(kMostFileBytes));
    if (fd < 0 || memory.get() == nullptr) {
      incomplete_ = true;
      if (fd >= 0) close(fd);
      return;
    }
    size_t bytes = 0;
    while (bytes < static_cast<size_t>(kMostFileBytes)) {
      const ssize_t n = read(fd, memory.get() + bytes, static_cast<size_t>(kMostFileBytes) - bytes);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) incomplete_ = true;
      if (n <= 0) break;
      bytes += static_cast<size_t>(n);
    }
    close(fd);
    Content content;
    content.take(memory.get(), bytes);
    rec::IncludedFile c;
    c.program = handleOf(program_);
    c.path = textOf(file.path.text);
    c.folder = textOf(folder_.text);
    c.content = content.payload();
    const int64_t now = nowNs();
    put(c, {now, now, 0, rec::command_flags::kAddedByAgent});
    // Under another name it includes the same files, with names that grow without end.
    if (file.is_new) scan(memory.get(), bytes, folderOf(file.path).text);
  }

  cl_program program_;
  Path folder_;         // the process's working directory
  List<Path> folders_;  // of -I
  List<File> files_;    // in the order of discovery
  List<Path> defined_;  // texts of macros that could name files
  uint64_t defined_tried_ = 0;
  bool by_macro_ = false;  // there is an #include with a macro
  bool macro_names_file_ = false;
  bool incomplete_ = false;
};

}  // namespace

void recordIncludes(cl_program program, const char* options) {
  size_t bytes = 0;
  if (next().clGetProgramInfo(program, CL_PROGRAM_SOURCE, 0, nullptr, &bytes) != CL_SUCCESS ||
      bytes < 2) {
    return;  // the program has no source
  }
  const Memory source(bytes);
  if (source.get() == nullptr || next().clGetProgramInfo(program, CL_PROGRAM_SOURCE, bytes,
                                                         source.get(), nullptr) != CL_SUCCESS) {
    return;
  }
  if (memmem(source.get(), bytes, "include", 7) == nullptr) return;
  const int saved_errno = errno;
  {
    const agent::NoCancel no_cancel;
    Includes includes(program, options);
    includes.takeAll(source.get(), bytes - 1);
  }
  errno = saved_errno;
}

}  // namespace tracesmith::record
