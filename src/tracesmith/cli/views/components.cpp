// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/views/components.hpp"

#include <expat.h>
#include <fmt/format.h>
#include <isa-l.h>
#include <simdjson.h>
#include <sqlite3.h>
#include <xxhash.h>
#include <zstd.h>
#include <CLI/Version.hpp>

#include <cctype>
#include <tl/expected.hpp>

#ifdef _WIN32
#include <tre/tre.h>
#endif
#ifndef TRACESMITH_READING_ONLY
#include <png.h>
#include <zlib.h>
#include <boost/version.hpp>
#endif

// Written by the build.
#include "built/commit.hpp"
#include "built/page_components.hpp"

#if __has_include(<elfutils/version.h>)
#include <elfutils/version.h>
#endif

#include "tracesmith/base/version.hpp"
#ifdef __linux__
#include "tracesmith/base/linux/loaded_modules.hpp"
#endif

namespace tracesmith::cli {
namespace {

/// "libzstd": whether this program has loaded such a library. In a wheel the name goes on with a
/// hash: "libzstd-37412b7a.so.1.5.4".
bool isShared([[maybe_unused]] std::string_view library) {
#ifdef __linux__
  return anyModule([&](const LoadedModule& module) {
    std::string_view name = module.path;
    name.remove_prefix(name.rfind('/') + 1);  // npos + 1 is 0
    return name.starts_with(library) && name.substr(library.size()).find_first_of(".-") == 0;
  });
#else
  return false;
#endif
}

std::string dotted(unsigned major, unsigned minor, unsigned patch) {
  return fmt::format("{}.{}.{}", major, minor, patch);
}

std::string_view spdxPlace(Component::Place place) {
  return place == Component::Place::kShared ? "DYNAMIC_LINK" : "CONTAINS";
}

/// An identifier in a document of SPDX: letters, digits, '.' and '-'.
std::string spdxId(std::string_view name) {
  std::string out = "SPDXRef-Package-";
  for (const char c : name) out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '-';
  return out;
}

struct SpdxPackage {
  std::string_view name, version, licence, url;
};

void writePackage(const SpdxPackage& package, std::string_view copyright, JsonWriter& json) {
  json.beginObject().field("SPDXID", spdxId(package.name)).field("name", package.name);
  json.field("versionInfo", package.version).field("downloadLocation", package.url);
  json.field("filesAnalyzed", false).field("licenseConcluded", package.licence);
  json.field("licenseDeclared", package.licence).field("copyrightText", copyright).endObject();
}

constexpr SpdxPackage kItself = {"tracesmith", "", "Apache-2.0", "NOASSERTION"};

}  // namespace

std::string_view toString(Component::Place place) {
  switch (place) {
    case Component::Place::kShared:
      return "shared library";
    case Component::Place::kPage:
      return "in Studio's page";
    default:
      return "in the command";
  }
}

std::string_view builtCommit() { return TRACESMITH_COMMIT; }

std::vector<Component> components() {
  std::vector<Component> out;
  const auto add = [&](std::string name, std::string version, std::string licence, std::string url,
                       std::string_view library = {}) {
    const bool shared = !library.empty() && isShared(library);
    out.push_back({std::move(name), std::move(version), std::move(licence), std::move(url),
                   shared ? Component::Place::kShared : Component::Place::kInside});
  };
#ifdef BOOST_VERSION
  add("Boost", dotted(BOOST_VERSION / 100'000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100),
      "BSL-1.0", "https://www.boost.org");
#endif
  add("CLI11", CLI11_VERSION, "BSD-3-Clause", "https://github.com/CLIUtils/CLI11");
#ifdef _ELFUTILS_VERSION
  if (isShared("libdw")) {
    add("elfutils", fmt::format("0.{}", _ELFUTILS_VERSION), "LGPL-3.0-or-later OR GPL-2.0-or-later",
        "https://sourceware.org/elfutils/", "libdw");
  }
#endif
  add("Expat", dotted(XML_MAJOR_VERSION, XML_MINOR_VERSION, XML_MICRO_VERSION), "MIT",
      "https://libexpat.github.io", "libexpat");
  add("fmt", dotted(FMT_VERSION / 10'000, FMT_VERSION / 100 % 100, FMT_VERSION % 100), "MIT",
      "https://fmt.dev", "libfmt");
  add("ISA-L", dotted(ISAL_MAJOR_VERSION, ISAL_MINOR_VERSION, ISAL_PATCH_VERSION), "BSD-3-Clause",
      "https://github.com/intel/isa-l", "libisal");
#ifdef TRACESMITH_LIBIBERTY
  add("libiberty", TRACESMITH_LIBIBERTY, "GPL-2.0-or-later WITH GCC-exception-2.0",
      "https://gcc.gnu.org");
#endif
#ifdef TRACESMITH_LIBEDIT
  add("libedit", TRACESMITH_LIBEDIT_VERSION, "BSD-3-Clause", "https://thrysoee.dk/editline/",
      "libedit");
#endif
#ifdef _LIBCPP_VERSION
  add("libc++",
      dotted(_LIBCPP_VERSION / 10'000, _LIBCPP_VERSION / 100 % 100, _LIBCPP_VERSION % 100),
      "Apache-2.0 WITH LLVM-exception", "https://libcxx.llvm.org", "libc++");
#endif
#ifdef PNG_LIBPNG_VER_STRING
  add("libpng", PNG_LIBPNG_VER_STRING, "libpng-2.0", "http://www.libpng.org", "libpng16");
#endif
#ifdef _GLIBCXX_RELEASE
  add("libstdc++", std::to_string(_GLIBCXX_RELEASE), "GPL-3.0-or-later WITH GCC-exception-3.1",
      "https://gcc.gnu.org", "libstdc++");
#endif
#ifdef TRACESMITH_NCURSES
  add("ncurses", TRACESMITH_NCURSES_VERSION, "X11-distribute-modifications-variant",
      "https://invisible-island.net/ncurses/", "libncursesw");
#endif
  add("simdjson",
      dotted(simdjson::SIMDJSON_VERSION_MAJOR, simdjson::SIMDJSON_VERSION_MINOR,
             simdjson::SIMDJSON_VERSION_REVISION),
      "Apache-2.0", "https://simdjson.org", "libsimdjson");
  add("SQLite", SQLITE_VERSION, "blessing", "https://sqlite.org", "libsqlite3");
  add("tl-expected",
      dotted(TL_EXPECTED_VERSION_MAJOR, TL_EXPECTED_VERSION_MINOR, TL_EXPECTED_VERSION_PATCH),
      "CC0-1.0", "https://github.com/TartanLlama/expected");
  add("xxHash", dotted(XXH_VERSION_MAJOR, XXH_VERSION_MINOR, XXH_VERSION_RELEASE), "BSD-2-Clause",
      "https://xxhash.com", "libxxhash");
#ifdef _WIN32
  const char* tre = nullptr;
  (void)tre_config(TRE_CONFIG_VERSION, &tre);
  add("TRE", tre != nullptr ? tre : "unknown", "BSD-2-Clause", "https://github.com/laurikari/tre");
#endif
#ifdef ZLIB_VERSION
  add("zlib", ZLIB_VERSION, "Zlib", "https://zlib.net", "libz");
#endif
  add("zstd", ZSTD_VERSION_STRING, "BSD-3-Clause OR GPL-2.0-only",
      "https://facebook.github.io/zstd/", "libzstd");
  for (const auto& [name, version, licence] : kPageComponents) {
    out.push_back({name, version, licence,
                   fmt::format("https://www.npmjs.com/package/{}/v/{}", name, version),
                   Component::Place::kPage});
  }
  return out;
}

std::string componentsText() {
  std::string out = fmt::format("TraceSmith {}, Apache-2.0\ncommit {} ({:.10})\n\n",
                                getVersionString(), builtCommit(), TRACESMITH_COMMIT_DATE);
  const auto line = [&](std::string_view name, std::string_view version, std::string_view licence,
                        std::string_view place) {
    out += fmt::format("{:<12} {:<13} {:<40} {}\n", name, version, licence, place);
  };
  line("made with", "version", "licence", "where");
  for (const Component& c : components()) line(c.name, c.version, c.licence, toString(c.place));
  return out;
}

void writeSpdx(JsonWriter& json) {
  const std::string name = "tracesmith-" + getVersionString();
  const std::string commit(builtCommit());
  json.beginObject().field("spdxVersion", "SPDX-2.3").field("dataLicense", "CC0-1.0");
  json.field("SPDXID", "SPDXRef-DOCUMENT").field("name", name);
  json.field("documentNamespace", fmt::format("https://spdx.org/spdxdocs/{}-{}", name,
                                              commit.substr(0, commit.find(','))));
  json.key("creationInfo").beginObject().field("created", TRACESMITH_COMMIT_DATE);
  json.key("creators").beginArray().value("Tool: " + name).endArray().endObject();
  json.key("packages").beginArray();
  SpdxPackage itself = kItself;
  const std::string version = getVersionString() + " (commit " + commit + ")";
  itself.version = version;
  writePackage(itself, "The authors of TraceSmith", json);
  const std::vector<Component> all = components();
  for (const Component& c : all) {
    writePackage({c.name, c.version, c.licence, c.url}, "NOASSERTION", json);
  }
  json.endArray().key("relationships").beginArray();
  const auto relate = [&](std::string_view from, std::string_view how, std::string_view to) {
    json.beginObject().field("spdxElementId", from).field("relationshipType", how);
    json.field("relatedSpdxElement", to).endObject();
  };
  relate("SPDXRef-DOCUMENT", "DESCRIBES", spdxId(itself.name));
  for (const Component& c : all) relate(spdxId(itself.name), spdxPlace(c.place), spdxId(c.name));
  json.endArray().endObject();
}

}  // namespace tracesmith::cli
