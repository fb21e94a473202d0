// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <io.h>
#include <unistd.h>
#include <windows.h>

#include <cerrno>

#include "tracesmith/base/windows/windows_file.hpp"
#include "tracesmith/import/common/tool_run.hpp"

namespace tracesmith::import {
namespace {

/// An argument as the C library of the started program takes it apart: backslashes are doubled
/// before a quotation mark.
std::string quoted(const std::string& argument) {
  std::string out = "\"";
  size_t backslashes = 0;
  for (const char c : argument) {
    if (c == '"') out.append(backslashes + 1, '\\');
    backslashes = c == '\\' ? backslashes + 1 : 0;
    out += c;
  }
  return out.append(backslashes, '\\') + '"';
}

}  // namespace

Status runTool(const std::vector<std::string>& command) {
  std::string line;
  for (const std::string& argument : command) line += (line.empty() ? "" : " ") + quoted(argument);
  const auto failed = [&](const char* what, const std::string& where) {
    return failErrno(windows::errnoOfLastError(), what, where);
  };
  SECURITY_ATTRIBUTES inherited{sizeof inherited, nullptr, TRUE};
  HANDLE from = nullptr;
  HANDLE to = nullptr;
  if (CreatePipe(&from, &to, &inherited, 0) == 0) return failed("cannot create a pipe", {});
  SetHandleInformation(from, HANDLE_FLAG_INHERIT, 0);
  const HANDLE nothing = CreateFileA("NUL", GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE,
                                     &inherited, OPEN_EXISTING, 0, nullptr);
  STARTUPINFOA start{};
  start.cb = sizeof start;
  start.dwFlags = STARTF_USESTDHANDLES;
  start.hStdInput = nothing;
  start.hStdOutput = start.hStdError = to;
  PROCESS_INFORMATION process{};
  const bool started = CreateProcessA(command[0].c_str(), line.data(), nullptr, nullptr, TRUE, 0,
                                      nullptr, nullptr, &start, &process) != 0;
  const Status status = started ? Status() : failed("cannot be executed", command[0]);
  CloseHandle(to);
  CloseHandle(nothing);
  if (!started) {
    CloseHandle(from);
    return status;
  }
  const int output = _open_osfhandle(reinterpret_cast<intptr_t>(from), _O_BINARY);
  const std::string said = lastOutputOf(output);
  ::close(output);
  WaitForSingleObject(process.hProcess, INFINITE);
  DWORD code = 0;
  GetExitCodeProcess(process.hProcess, &code);
  CloseHandle(process.hThread);
  CloseHandle(process.hProcess);
  if (code == 0) return {};
  std::string what = "failed with exit code " + std::to_string(code);
  if (!said.empty()) what += ": " + said;
  return fail(ErrorCode::kIo, std::move(what), command[0]);
}

}  // namespace tracesmith::import
