// SPDX-License-Identifier: Apache-2.0
// Runs a command under the agents as `tracesmith profile` does, in a process of its own that a test
// can redirect, limit and kill.
//   profile_driver OUT REPORT [ring=BYTES] [drop] [preload] [layer] [record] [nowait] -- COMMAND
//   ARGS... profile_driver recover SESSION_DIR REPORT
// The report is lines "name value", written when all is done.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tracesmith/capture/launch/profile_session.hpp"

namespace {

using tracesmith::ErrorCode;

class Report {
 public:
  explicit Report(const char* path) : file_(std::fopen(path, "w")) {}
  ~Report() {
    if (file_ != nullptr) std::fclose(file_);
  }
  void line(const char* name, unsigned long long value) {
    if (file_ != nullptr) std::fprintf(file_, "%s %llu\n", name, value);
  }
  void text(const char* name, const std::string& value) {
    if (file_ != nullptr) std::fprintf(file_, "%s %s\n", name, value.c_str());
  }

 private:
  std::FILE* file_;
};

int recover(const char* session, const char* report_path) {
  auto outcome = tracesmith::recoverSession(session);
  Report report(report_path);
  if (!outcome) {
    report.text("error", outcome.error().toString());
    return 1;
  }
  report.line("kernels", outcome->kernels);
  report.line("recovered_events", outcome->recovered_events);
  report.line("arenas", outcome->arenas);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "recover") return recover(argv[2], argv[3]);
  if (argc < 5) return 125;
  tracesmith::ProfileOptions options;
  options.output = argv[1];
  int i = 3;
  for (; i < argc && std::string(argv[i]) != "--"; ++i) {
    const std::string word = argv[i];
    if (word.rfind("ring=", 0) == 0) options.ring_bytes = std::strtoull(argv[i] + 5, nullptr, 10);
    if (word == "drop") options.overflow = tracesmith::OverflowPolicy::DropNewest;
    if (word == "preload") options.injection = tracesmith::Injection::kPreload;
    if (word == "layer") options.injection = tracesmith::Injection::kLayer;
    if (word == "record") options.record.emplace();
    if (word == "nowait") options.wait_for_descendants = false;
  }
  for (++i; i < argc; ++i) options.command.emplace_back(argv[i]);
  auto outcome = tracesmith::runProfile(options);
  Report report(argv[2]);
  if (!outcome) {
    report.text("error", outcome.error().toString());
    if (outcome.error().code == ErrorCode::kNotFound) return 127;
    return outcome.error().code == ErrorCode::kPermission ? 126 : 125;
  }
  report.line("exit_code", static_cast<unsigned long long>(outcome->exit_code));
  report.line("signal", static_cast<unsigned long long>(outcome->signal));
  report.line("kernels", outcome->kernels);
  report.line("dropped", outcome->dropped);
  report.line("unresolved", outcome->unresolved);
  report.line("gpu_processes", outcome->gpu_processes);
  report.text("trace_status",
              outcome->trace_status ? "ok" : outcome->trace_status.error().toString());
  return outcome->exit_code;
}
