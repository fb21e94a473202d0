// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/topology/topology_readers.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "tracesmith/base/files/file_text.hpp"

namespace tracesmith::topology {
namespace {

constexpr size_t kMostNodes = 4096;
constexpr size_t kMostBytes = 64u << 20;  // the largest known are below 1 MiB

Result<Topology> checked(Result<Topology> read, const std::string& where) {
  if (!read && read.error().where.empty()) read.error().where = where;
  if (read && read->nodes.size() > kMostNodes) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("has {} devices; no machine has more than {}", read->nodes.size(), kMostNodes),
        where);
  }
  return read;
}

}  // namespace

Result<Topology> readTopology(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return checked(readSysfs(path), path);
  if (!std::filesystem::exists(path, error)) {
    return fail(ErrorCode::kNotFound, "there is no such file or folder", path);
  }
  const auto text = readFileText(path, kMostBytes + 1);
  if (!text) return fail(ErrorCode::kIo, "cannot be read", path);
  if (text->size() > kMostBytes) {
    return fail(ErrorCode::kInvalidArgument,
                "has more than 64 MiB, which no file of a topology has", path);
  }
  return readTopologyText(*text, path);
}

Result<Topology> readTopologyText(std::string_view text, const std::string& where) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || text[begin] != '<')
    return checked(readNvidiaSmiMatrix(text), where);
  TS_TRY(const XmlElement xml, readXml(text, where));
  if (xml.name == "system") return checked(readNcclTopology(xml), where);
  if (xml.name == "graphs") return checked(readNcclGraphs(xml), where);
  if (xml.name == "topology") return checked(readHwlocXml(xml), where);
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("is XML of another kind: its outermost element is <{}>, and not <system> "
                          "or <graphs> (NCCL) or <topology> (hwloc)",
                          xml.name),
              where);
}

}  // namespace tracesmith::topology
