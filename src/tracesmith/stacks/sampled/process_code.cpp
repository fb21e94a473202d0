// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/sampled/process_code.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <utility>

namespace tracesmith::stacks {
namespace {

constexpr size_t kMostImages = 4096;
constexpr std::string_view kVdso = "[vdso]";

/// One line of /proc/PID/maps: code only.
std::optional<CodeMapping> parseMapLine(const std::string& line) {
  CodeMapping out;
  unsigned major = 0, minor = 0;
  char flags[5] = {};
  int path_at = 0;
  unsigned long begin = 0, end = 0, offset = 0, inode = 0;
  if (std::sscanf(line.c_str(), "%lx-%lx %4s %lx %x:%x %lu %n", &begin, &end, flags, &offset,
                  &major, &minor, &inode, &path_at) != 7 ||
      flags[2] != 'x') {
    return std::nullopt;
  }
  out = {.begin = begin,
         .end = end,
         .file_offset = offset,
         .device = makedev(major, minor),
         .inode = inode,
         .path = line.substr(static_cast<size_t>(path_at))};
  return out;
}

/// By its inode alone: file systems of layers name other devices in the map than stat() does.
bool isThatFile(int fd, const CodeMapping& mapping) {
  struct stat facts {};
  return fstat(fd, &facts) == 0 && facts.st_ino == mapping.inode;
}

}  // namespace

OpenFile openMapped(pid_t pid, const CodeMapping& mapping) {
  OpenFile itself = OpenFile::regular(
      fmt::format("/proc/{}/map_files/{:x}-{:x}", pid, mapping.begin, mapping.end));
  if (itself) return itself;  // the system lets us
  for (const std::string& path :
       {fmt::format("/proc/{}/root{}", pid, mapping.path), mapping.path}) {
    OpenFile file = OpenFile::regular(path);
    if (file && isThatFile(file.fd(), mapping)) return file;
  }
  return {};
}

CodeImages::CodeImages() {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  most_open_ = std::clamp<size_t>(files.rlim_cur / 4, 1, 1024);
}

std::shared_ptr<const CodeImage> CodeImages::imageOf(pid_t pid, const CodeMapping& mapping) {
  if (mapping.path == kVdso) {
    if (vdso_ == nullptr) vdso_ = CodeImage::readVdso();
    return vdso_;
  }
  if (mapping.inode == 0) return nullptr;
  OpenFile file = openMapped(pid, mapping);
  struct stat facts {};
  if (!file || fstat(file.fd(), &facts) != 0) return nullptr;
  const Key key{
      .device = facts.st_dev,
      .inode = facts.st_ino,
      .bytes = static_cast<uint64_t>(facts.st_size),
      .changed_ns = int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec};
  if (const auto known = images_.find(key); known != images_.end()) return known->second;
  if (images_.size() >= kMostImages) images_.clear();  // those in use live on
  std::shared_ptr<const CodeImage>& image = images_[key];
  auto read = CodeImage::read(std::move(file));
  if (!read) return nullptr;  // nor will it be the next time
  image = *read;
  open_.push_back(*read);
  while (open_.size() > most_open_) {
    if (const auto oldest = open_.front().lock()) oldest->closeFile();
    open_.pop_front();
  }
  return image;
}

Status ProcessCode::readMap() {
  const std::string path = fmt::format("/proc/{}/maps", pid_);
  std::ifstream in(path);
  if (!in) return failErrno(errno, "cannot read", path);
  ProcessCode now(pid_, images_);
  for (std::string line; std::getline(in, line);) {
    if (auto mapping = parseMapLine(line)) now.add(std::move(*mapping));
  }
  // Without a line, its first thread has ended, and other threads of it go on.
  if (!now.mappings_.empty()) mappings_ = std::move(now.mappings_);
  return {};
}

void ProcessCode::add(CodeMapping mapping) {
  if (mapping.begin >= mapping.end) return;
  auto next = mappings_.lower_bound(mapping.begin);
  if (next != mappings_.begin()) {
    const auto before = std::prev(next);
    CodeMapping& its = before->second.mapping;
    if (its.end > mapping.begin) {
      if (its.end > mapping.end) {  // its end remains
        Mapped rest = before->second;
        rest.mapping.file_offset += mapping.end - rest.mapping.begin;
        rest.mapping.begin = mapping.end;
        mappings_.emplace(mapping.end, std::move(rest));
      }
      its.end = mapping.begin;
    }
  }
  while (next != mappings_.end() && next->first < mapping.end) {
    if (next->second.mapping.end > mapping.end) {
      Mapped rest = std::move(next->second);
      rest.mapping.file_offset += mapping.end - rest.mapping.begin;
      rest.mapping.begin = mapping.end;
      mappings_.erase(next);
      mappings_.emplace(mapping.end, std::move(rest));
      break;
    }
    next = mappings_.erase(next);
  }
  const uint64_t begin = mapping.begin;
  mappings_[begin] = {.mapping = std::move(mapping), .image = nullptr};
}

ProcessCode ProcessCode::copyFor(pid_t child) const {
  ProcessCode out = *this;
  out.pid_ = child;
  return out;
}

ProcessCode::Mapped* ProcessCode::mappedAt(uint64_t address) {
  auto after = mappings_.upper_bound(address);
  if (after == mappings_.begin()) return nullptr;
  Mapped& mapped = std::prev(after)->second;
  if (address >= mapped.mapping.end) return nullptr;
  if (!mapped.is_opened) {
    errno = 0;
    mapped.image = images_->imageOf(pid_, mapped.mapping);
    mapped.is_opened = mapped.image != nullptr || errno != EMFILE;
    if (mapped.image != nullptr) {
      if (const auto first = mapped.image->addressAt(mapped.mapping.file_offset)) {
        mapped.bias = mapped.mapping.begin - *first;
      } else {
        mapped.image = nullptr;
      }
    }
  }
  return &mapped;
}

bool ProcessCode::find(uint64_t address, CfiEntry& out, uint64_t& place) {
  const Mapped* const mapped = mappedAt(address);
  return mapped != nullptr && mapped->image != nullptr &&
         mapped->image->find(address - mapped->bias, out, place);
}

bool ProcessCode::readWord(uint64_t address, uint64_t& out) {
  const Mapped* const mapped = mappedAt(address);
  if (mapped == nullptr) return false;
  if (mapped->image != nullptr && mapped->image->readWord(address - mapped->bias, out)) return true;
  // Generated code is in no file. If it has changed since, a caller is not found.
  iovec here{&out, sizeof out};
  iovec there{reinterpret_cast<void*>(address), sizeof out};  // NOLINT: of another process
  return process_vm_readv(pid_, &here, 1, &there, 1, 0) == sizeof out;
}

ProcessCode::Place ProcessCode::placeOf(uint64_t address) {
  const Mapped* const mapped = mappedAt(address);
  if (mapped == nullptr) return {};
  return {.mapping = &mapped->mapping,
          .image = mapped->image.get(),
          .address = mapped->image == nullptr ? 0 : address - mapped->bias};
}

std::vector<CodeMapping> ProcessCode::mappings() const {
  std::vector<CodeMapping> out;
  out.reserve(mappings_.size());
  for (const auto& [begin, mapped] : mappings_) out.push_back(mapped.mapping);
  return out;
}

}  // namespace tracesmith::stacks
