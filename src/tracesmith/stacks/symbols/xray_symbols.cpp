// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/stacks/symbols/xray_symbols.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "tracesmith/base/bytes.hpp"
#include "tracesmith/base/demangle.hpp"
#include "tracesmith/stacks/symbols/elf_records.hpp"

namespace tracesmith {
namespace {

constexpr size_t kWindowBytes = 1u << 20;
constexpr size_t kNamesAtOnce = 4096;
constexpr size_t kMostSections = 1u << 16;
constexpr size_t kLongestSymbol = 64u << 10;
constexpr size_t kMostFunctions = (1u << 28) - 1;  // limit of a function record's bit field
constexpr std::string_view kMapSection = "xray_instr_map";

/// The layout of a sled in the section: 32 bytes.
struct Sled {
  uint64_t address;
  uint64_t function;
  uint8_t kind;
  uint8_t always;
  uint8_t version;  // from 2 on addresses are relative to their own position
  uint8_t padding[13];
};
static_assert(sizeof(Sled) == 32);

/// An ELF file, read on demand.
class ElfFile {
 public:
  explicit ElfFile(std::string path, const std::function<void()>& progress = {})
      : path_(std::move(path)),
        progress_(progress),
        fd_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~ElfFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  Status open();
  const elf::Section* section(std::string_view name) const;
  const elf::Section* linked(const elf::Section& from) const {
    return from.sh_link < sections_.size() ? &sections_[from.sh_link] : nullptr;
  }
  /// Calls `each(record, its number)` for every complete record of a section, until it returns
  /// false.
  template <class Record, class Each>
  bool forEach(const elf::Section& of, const Each& each) const;
  /// The text at offset `at` of a string section; "" if it does not end within the section.
  std::string text(const elf::Section& strings, uint64_t at) const;
  auto problem(const std::string& what) const {
    return fail(ErrorCode::kInvalidArgument, what, path_);
  }

 private:
  bool bytes(uint64_t at, void* to, size_t size) const {
    if (at > size_ || size > size_ - at) return false;
    auto* p = static_cast<uint8_t*>(to);
    while (size > 0) {
      const ssize_t n = ::pread(fd_, p, size, static_cast<off_t>(at));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      p += n;
      at += static_cast<uint64_t>(n);
      size -= static_cast<size_t>(n);
    }
    return true;
  }
  bool within(const elf::Section& s) const {
    return s.sh_type != elf::kNoBits && s.sh_offset <= size_ && s.sh_size <= size_ - s.sh_offset;
  }

  std::string path_;
  std::function<void()> progress_;
  int fd_;
  uint64_t size_ = 0;
  elf::Header header_{};
  std::vector<elf::Section> sections_;
  std::vector<std::string> names_;
};

Status ElfFile::open() {
  if (fd_ < 0) return failErrno(errno, "cannot be read", path_);
  struct stat status {};
  if (::fstat(fd_, &status) != 0) return failErrno(errno, "cannot be read", path_);
  if (!S_ISREG(status.st_mode)) return problem("is not a regular file");
  size_ = static_cast<uint64_t>(status.st_size);
  if (!bytes(0, &header_, sizeof header_) ||
      std::memcmp(header_.e_ident, elf::kMagic, sizeof elf::kMagic) != 0) {
    return problem("is not an ELF file; give the program that wrote the log");
  }
  if (header_.e_ident[elf::kClassAt] != elf::kClass64 ||
      header_.e_ident[elf::kDataAt] != elf::kLittleEndian) {
    return problem("is not a 64-bit little-endian ELF file");
  }
  uint64_t count = header_.e_shnum;
  elf::Section first{};
  if (header_.e_shentsize != sizeof first || !bytes(header_.e_shoff, &first, sizeof first)) {
    return problem("is an ELF file without sections");
  }
  if (count == 0) count = first.sh_size;  // the count does not fit in the header
  uint32_t names_at = header_.e_shstrndx;
  if (names_at == elf::kMoreSections) names_at = first.sh_link;
  if (count > kMostSections) return problem("claims to have more sections than a file has");
  sections_.resize(static_cast<size_t>(count));
  if (!bytes(header_.e_shoff, sections_.data(), sections_.size() * sizeof first)) {
    return problem("is a truncated ELF file: its sections are beyond its end");
  }
  if (names_at >= sections_.size()) return problem("is an ELF file whose sections have no names");
  names_.resize(sections_.size());
  // The relevant names are short; longer ones need not be read completely.
  for (size_t i = 0; i < sections_.size(); ++i) {
    char name[24] = {};
    const elf::Section& strings = sections_[names_at];
    if (!within(strings) || sections_[i].sh_name >= strings.sh_size) continue;
    const uint64_t left = strings.sh_size - sections_[i].sh_name;
    if (bytes(strings.sh_offset + sections_[i].sh_name, name,
              static_cast<size_t>(std::min<uint64_t>(sizeof name - 1, left)))) {
      names_[i] = name;
    }
  }
  return {};
}

const elf::Section* ElfFile::section(std::string_view name) const {
  for (size_t i = 0; i < sections_.size(); ++i) {
    if (names_[i] == name && within(sections_[i])) return &sections_[i];
  }
  return nullptr;
}

template <class Record, class Each>
bool ElfFile::forEach(const elf::Section& of, const Each& each) const {
  if (!within(of)) return false;
  const uint64_t count = of.sh_size / sizeof(Record);
  std::vector<Record> window(std::min<uint64_t>(count, kWindowBytes / sizeof(Record)));
  for (uint64_t done = 0; done < count;) {
    const auto n = static_cast<size_t>(std::min<uint64_t>(window.size(), count - done));
    if (!bytes(of.sh_offset + done * sizeof(Record), window.data(), n * sizeof(Record))) {
      return false;
    }
    for (size_t i = 0; i < n; ++i) {
      if (!each(window[i], done + i)) return true;
    }
    done += n;
    if (progress_) progress_();
  }
  return true;
}

std::string ElfFile::text(const elf::Section& strings, uint64_t at) const {
  std::string result;
  if (!within(strings)) return result;
  while (at < strings.sh_size && result.size() < kLongestSymbol) {
    char piece[256];
    const auto n = static_cast<size_t>(std::min<uint64_t>(sizeof piece, strings.sh_size - at));
    if (!bytes(strings.sh_offset + at, piece, n)) return {};
    const auto* const end = static_cast<const char*>(std::memchr(piece, 0, n));
    if (end != nullptr) return result.append(piece, static_cast<size_t>(end - piece));
    result.append(piece, n);
    at += n;
  }
  return {};
}

/// Start addresses of the functions, by number less 1. Sleds of one function are adjacent, and
/// functions are numbered in the order of the section, from 1.
std::vector<uint64_t> functionAddresses(const ElfFile& file, const elf::Section& map) {
  std::vector<uint64_t> addresses;
  std::optional<uint64_t> last;
  file.forEach<Sled>(map, [&](const Sled& sled, uint64_t number) {
    uint64_t address = sled.function;
    if (sled.version >= 2) {
      address += map.sh_addr + number * sizeof(Sled) + offsetof(Sled, function);
    }
    if (last != address) addresses.push_back(address);
    last = address;
    return addresses.size() < kMostFunctions;
  });
  return addresses;
}

/// Of several symbols at one address the one with the widest visibility is chosen.
int rankOf(const elf::Symbol& symbol) {
  switch (elf::bindingOf(symbol)) {
    case elf::kGlobal:
      return 3;
    case elf::kWeak:
      return 2;
    default:
      return 1;
  }
}

}  // namespace

const std::string& XRaySymbols::name(int32_t function) const {
  static const std::string kNone;
  const auto at = static_cast<size_t>(static_cast<uint32_t>(function)) - 1;
  return at < names_.size() ? names_[at] : kNone;
}

Result<XRaySymbols> XRaySymbols::ofBinary(const std::string& path,
                                          const std::function<void()>& progress) {
  ElfFile file(path, progress);
  TS_CHECK_OK(file.open());
  const elf::Section* const map = file.section(kMapSection);
  if (map == nullptr) {
    return file.problem("has no section xray_instr_map: it was not built with -fxray-instrument");
  }
  const std::vector<uint64_t> addresses = functionAddresses(file, *map);

  struct Candidate {
    int rank = 0;
    uint32_t name = 0;  // offset in the string section
  };
  std::unordered_map<uint64_t, Candidate> wanted;
  for (const uint64_t address : addresses) wanted.try_emplace(address);
  const elf::Section* table = file.section(".symtab");
  if (table == nullptr) table = file.section(".dynsym");  // the program is stripped
  const elf::Section* const strings = table == nullptr ? nullptr : file.linked(*table);
  XRaySymbols symbols;
  symbols.names_.resize(addresses.size());
  if (strings == nullptr) return symbols;
  file.forEach<elf::Symbol>(*table, [&](const elf::Symbol& symbol, uint64_t) {
    const auto type = elf::typeOf(symbol);
    if ((type != elf::kFunction && type != elf::kIndirectFunction) ||
        symbol.st_shndx == elf::kUndefined)
      return true;
    const auto it = wanted.find(symbol.st_value);
    if (it == wanted.end() || it->second.rank >= rankOf(symbol)) return true;
    it->second = {rankOf(symbol), symbol.st_name};
    return true;
  });
  uint64_t bytes = 0;
  constexpr uint64_t kMostBytes = 1u << 30;  // overlapping strings could be longer than the file
  for (size_t begin = 0; begin < addresses.size() && bytes < kMostBytes; begin += kNamesAtOnce) {
    std::vector<std::string> mangled(std::min(kNamesAtOnce, addresses.size() - begin));
    for (size_t i = 0; i < mangled.size() && bytes < kMostBytes; ++i) {
      const Candidate& found = wanted[addresses[begin + i]];
      if (found.rank > 0) mangled[i] = file.text(*strings, found.name);
      bytes += mangled[i].size();
    }
    std::ranges::move(demangled(mangled), symbols.names_.begin() + static_cast<ptrdiff_t>(begin));
    if (progress) progress();
  }
  for (const std::string& name : symbols.names_) symbols.named_ += name.empty() ? 0 : 1;
  return symbols;
}

std::string xrayBinaryBeside(const std::string& log) {
  const std::filesystem::path path(log);
  std::string name = path.filename().string();
  constexpr std::string_view kPrefix = "xray-log.";
  for (const std::string_view packed : {".gz", ".zst"}) {
    if (name.ends_with(packed)) name.resize(name.size() - packed.size());
  }
  const size_t dot = name.rfind('.');
  if (!name.starts_with(kPrefix) || dot <= kPrefix.size()) return {};
  const std::string binary =
      (path.parent_path() / name.substr(kPrefix.size(), dot - kPrefix.size())).string();
  ElfFile file(binary);
  return file.open() && file.section(kMapSection) != nullptr ? binary : std::string();
}

}  // namespace tracesmith
