// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes as a database, with each importer of databases. Real databases are the
// best seeds. The first 16 bytes are set here, so that no mutations are wasted on them.
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tracesmith/import/amd/rocpd_importer.hpp"
#include "tracesmith/import/amd/rpd_importer.hpp"
#include "tracesmith/import/nsys/nsys_importer.hpp"
#include "tracesmith/import/sqlite/sqlite_file.hpp"

using namespace tracesmith;          // NOLINT: a program of few functions
using namespace tracesmith::import;  // NOLINT

namespace {

struct Folder {
  Folder() {
    std::string pattern =
        access("/dev/shm", W_OK) == 0 ? "/dev/shm/fuzz-XXXXXX" : "/tmp/fuzz-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    path = pattern;
  }
  ~Folder() {
    unlink(source().c_str());
    unlink(trace().c_str());
    rmdir(path.c_str());
  }
  std::string source() const { return path + "/source"; }
  std::string trace() const { return path + "/trace"; }
  std::string path;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Folder folder;
  std::vector<uint8_t> bytes(data, data + size);
  if (bytes.size() < 512) return -1;
  std::memcpy(bytes.data(), kSqliteMagic.data(), kSqliteMagic.size());
  FILE* const file = fopen(folder.source().c_str(), "wb");
  if (file == nullptr) std::abort();
  if (fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size()) std::abort();
  fclose(file);
  const auto input = ImportInput::open(folder.source());
  if (!input) std::abort();
  for (const Importer* importer : {&kNsysImporter, &kRpdImporter, &kRocpdImporter}) {
    (void)importer->recognises(*input);
    auto writer = TraceWriter::create(folder.trace());
    if (!writer) std::abort();
    const auto counts = importer->run(*input, *writer, Trace{});
    // Each row takes bytes of the file, and some are read twice.
    if (counts && counts->rows > bytes.size()) std::abort();
  }
  return 0;
}
