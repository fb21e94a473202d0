// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/session_directory/session_info.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <cstdlib>
#include <random>
#include <string_view>

namespace tracesmith {
namespace {

void takeLine(std::string_view key, const std::string& value, SessionInfo& info) {
  if (key == "output") info.output = value;
  if (key == "command_line") info.command_line = value;
  if (key == "root_pid") {
    info.root_pid = static_cast<uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
  }
  if (key == "keep_kernels") info.keep_kernels = value != "0";
  if (key == "keep_memory") info.keep_memory = value != "0";
  if (key == "shortest_call_ns") {
    info.shortest_call_ns = std::strtoll(value.c_str(), nullptr, 10);
  }
  if (key == "flight_window_ns") {
    info.flight_window_ns = std::strtoll(value.c_str(), nullptr, 10);
  }
  if (key == "session_id") info.id = value;
  if (key == "force") info.force = value == "1";
  if (key == "attached") info.attached = value == "1";
  if (key == "replaces") info.replaces = value;
  if (key == "replaces_recording") info.replaces_recording = value;
}

std::string oneLine(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

}  // namespace

std::string makeSessionId() {
  std::array<uint8_t, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    std::random_device random;
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  }
  std::string id;
  for (const uint8_t byte : bytes) id += fmt::format("{:02x}", byte);
  return id;
}

std::string toText(const SessionInfo& info) {
  return fmt::format(
      "output={}\ncommand_line={}\nroot_pid={}\nkeep_kernels={}\nkeep_memory={}\n"
      "shortest_call_ns={}\nflight_window_ns={}\nsession_id={}\nforce={}\nattached={}\n"
      "replaces={}\nreplaces_recording={}\n",
      oneLine(info.output), oneLine(info.command_line), info.root_pid, info.keep_kernels ? 1 : 0,
      info.keep_memory ? 1 : 0, info.shortest_call_ns, info.flight_window_ns, info.id,
      info.force ? 1 : 0, info.attached ? 1 : 0, info.replaces, info.replaces_recording);
}

bool isSessionInfo(const std::string& text) {
  return text.starts_with("output=") && text.find("\ncommand_line=") != std::string::npos;
}

SessionInfo parseSessionInfo(const std::string& text) {
  SessionInfo info;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    const size_t eq = line.find('=');
    if (eq != std::string::npos) takeLine(line.substr(0, eq), line.substr(eq + 1), info);
  }
  return info;
}

}  // namespace tracesmith
