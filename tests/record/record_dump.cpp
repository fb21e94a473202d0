// SPDX-License-Identifier: Apache-2.0
// Prints a recording: one line for each command, with all of its fields in their order.
#include <cstdio>
#include <string>

#include "tracesmith/recording/recording_file.hpp"

using namespace tracesmith;             // NOLINT: a program of few functions
using namespace tracesmith::recording;  // NOLINT

namespace {

struct Printer {
  void operator()(const Payload& p) {
    std::printf(" %llu{", static_cast<unsigned long long>(p.bytes));
    for (const ContentHash& h : p.chunks) std::printf("%08x,", static_cast<unsigned>(h.low));
    std::printf("}");
  }
  void operator()(const Text& t) {
    std::printf(" '%.*s'", static_cast<int>(std::min<size_t>(t.size(), 60)), t.data());
  }
  void operator()(const Raw& r) {
    std::printf(" x");
    for (const uint8_t b : r.subspan(0, std::min<size_t>(r.size(), 16))) std::printf("%02x", b);
  }
  void operator()(const Handles& list) {
    std::printf(" [");
    for (const uint64_t h : list) std::printf("%llx,", static_cast<unsigned long long>(h));
    std::printf("]");
  }
  template <class T>
  void operator()(const T& number) {
    std::printf(" %llx", static_cast<unsigned long long>(number));
  }
};

const char* nameOf(CommandKind kind) {
  switch (kind) {
#define TS_X(number, Name)   \
  case CommandKind::k##Name: \
    return #Name;
    TS_RECORDED_COMMANDS(TS_X)
#undef TS_X
    case CommandKind::kNone:
      break;
  }
  return "?";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto reader = RecordingReader::open(argv[1]);
  if (!reader) {
    std::fprintf(stderr, "%s\n", reader.error().toString().c_str());
    return 1;
  }
  for (const Process& process : reader->processes()) {
    std::printf("process %u %u %s\n", process.number, process.pid, process.command_line.c_str());
    auto commands = reader->commands(process.number);
    if (!commands) return 1;
    forEachCommand(*commands, [&](const CommandHeader& h, ByteView fields) {
      std::printf("%llu t%u f%u r%d %s", static_cast<unsigned long long>(h.sequence), h.thread,
                  h.flags, h.result, nameOf(h.kind));
      withCommand(h.kind, fields, [](auto& command) {
        Printer printer;
        command.visit(printer);
      });
      std::printf("\n");
      return true;
    });
  }
  std::printf("%zu chunks, %llu bytes, %s\n", reader->chunks(),
              static_cast<unsigned long long>(reader->contentBytes()),
              reader->complete() ? "complete" : "not complete");
  return 0;
}
