// SPDX-License-Identifier: Apache-2.0
// Measures the import of Chrome JSON documents on one core, compared with simdjson reading every
// value in the same run. Usage: import_bench [--times N] [FILE...]. Without files it uses those in
// TRACESMITH_TEST_DATA above 20 MB. --times repeats the events of each file, to create larger
// documents.
#include <simdjson.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tracesmith/base/clock.hpp"
#include "tracesmith/import/common/byte_source.hpp"
#include "tracesmith/import/import_trace.hpp"

using namespace tracesmith;  // NOLINT: a program of few functions

namespace {

double seconds(clockid_t clock, int64_t from) {
  return static_cast<double>(clockNs(clock) - from) / 1e9;
}

long peakMiB() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

std::string unpacked(const std::string& path) {
  std::string text;
  auto source = import::ByteSource::open(path);
  if (!source) return text;
  std::vector<uint8_t> piece(1u << 20);
  for (;;) {
    const auto n = (*source)->read(piece);
    if (!n || *n == 0) return text;
    text.append(reinterpret_cast<const char*>(piece.data()), *n);
  }
}

/// Reads all events and arguments, each value as its own type.
uint64_t readAll(const std::string& text) {
  simdjson::ondemand::parser parser;
  const simdjson::padded_string padded(text);
  simdjson::ondemand::document document;
  uint64_t sum = 0;
  if (parser.iterate(padded).get(document)) return 0;
  const auto value = [&](simdjson::ondemand::value v) {
    simdjson::ondemand::json_type type{};
    if (v.type().get(type)) return;
    double number = 0;
    std::string_view view;
    if (type == simdjson::ondemand::json_type::number && !v.get_double().get(number)) {
      sum += static_cast<uint64_t>(number);
    } else if (type == simdjson::ondemand::json_type::string && !v.get_string().get(view)) {
      sum += view.size();
    } else if (!simdjson::to_json_string(v).get(view)) {
      sum += view.size();
    }
  };
  simdjson::ondemand::array events;
  if (document["traceEvents"].get_array().get(events)) return 0;
  for (auto element : events) {
    simdjson::ondemand::object event;
    if (element.get_object().get(event)) return sum;
    for (auto field : event) {
      std::string_view key;
      if (field.unescaped_key().get(key)) return sum;
      simdjson::ondemand::object arguments;
      if (key == "args" && !field.value().get_object().get(arguments)) {
        for (auto argument : arguments) value(argument.value());
      } else {
        value(field.value());
      }
    }
  }
  return sum;
}

std::vector<std::string> realTraces() {
  std::vector<std::string> files;
  const char* data = std::getenv("TRACESMITH_TEST_DATA");
  std::error_code ec;
  if (data == nullptr) return files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data, ec)) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".json.gz") || entry.file_size() < 1'000'000) continue;
    const std::string text = unpacked(path);
    if (text.size() > 20'000'000 && text.find("\"traceEvents\"") != std::string::npos) {
      files.push_back(path);
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Prints CPU and wall seconds, best of three.
void measure(const char* what, const std::string& path, double megabytes, const std::string& sbt) {
  double cpu = 1e9;
  double wall = 1e9;
  for (int round = 0; round < 3; ++round) {
    const int64_t cpu_from = clockNs(CLOCK_PROCESS_CPUTIME_ID);
    const int64_t wall_from = monotonicNs();
    if (const auto report = import::importTrace(path, sbt); !report) {
      std::printf("  %s: %s\n", what, report.error().toString().c_str());
      return;
    }
    cpu = std::min(cpu, seconds(CLOCK_PROCESS_CPUTIME_ID, cpu_from));
    wall = std::min(wall, seconds(CLOCK_MONOTONIC, wall_from));
  }
  std::printf("  %-28s %7.0f MB/s of one core, %5.0f MB/s wall, %8.1f KB, peak %ld MiB\n", what,
              megabytes / cpu, megabytes / wall,
              static_cast<double>(std::filesystem::file_size(sbt)) / 1e3, peakMiB());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> files;
  size_t times = 1;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--times") == 0 && i + 1 < argc) {
      times = std::strtoull(argv[++i], nullptr, 10);
    } else {
      files.emplace_back(argv[i]);
    }
  }
  if (files.empty()) files = realTraces();
  if (files.empty()) {
    std::puts("no traces (name some, or set TRACESMITH_TEST_DATA)");
    return 0;
  }
  const std::string folder =
      (std::filesystem::temp_directory_path() / ("import_bench." + std::to_string(getpid())))
          .string();
  std::filesystem::create_directory(folder);
  const std::string json = folder + "/t.json";
  const std::string sbt = folder + "/t.sbt";
  for (const std::string& path : files) {
    std::string text = unpacked(path);
    const size_t begin = text.find('[', text.find("\"traceEvents\"")) + 1;
    const size_t end = text.rfind(']');
    uint64_t bytes = 0;
    {
      std::ofstream out(json, std::ios::binary);
      out.write(text.data(), static_cast<std::streamsize>(begin));
      for (size_t i = 0; i < times; ++i) {
        if (i > 0) out.put(',');
        out.write(text.data() + begin, static_cast<std::streamsize>(end - begin));
      }
      out.write(text.data() + end, static_cast<std::streamsize>(text.size() - end));
      bytes = static_cast<uint64_t>(out.tellp());
    }
    const double megabytes = static_cast<double>(bytes) / 1e6;
    std::printf("%s: %.1f MB\n", std::filesystem::path(path).filename().c_str(), megabytes);
    measure(".json to .sbt", json, megabytes, sbt);
    if (times == 1) {
      measure(".json.gz to .sbt", path, megabytes, sbt);
      double best = 1e9;
      for (int round = 0; round < 3; ++round) {
        const int64_t from = clockNs(CLOCK_PROCESS_CPUTIME_ID);
        if (readAll(text) == 0) break;
        best = std::min(best, seconds(CLOCK_PROCESS_CPUTIME_ID, from));
      }
      std::printf("  %-28s %7.0f MB/s (nothing kept)\n", "simdjson, every value", megabytes / best);
      std::printf("  .json.gz / .sbt = %.2f\n",
                  static_cast<double>(std::filesystem::file_size(path)) /
                      static_cast<double>(std::filesystem::file_size(sbt)));
    }
  }
  std::filesystem::remove_all(folder);
  return 0;
}
