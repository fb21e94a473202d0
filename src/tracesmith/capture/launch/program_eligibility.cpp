// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/launch/program_eligibility.hpp"

#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tracesmith/capture/processes/process_facts.hpp"

namespace tracesmith {
namespace {

bool isProgram(const std::string& path) {
  struct stat file;
  return ::stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

std::string fileOf(const std::string& command) {
  if (command.find('/') != std::string::npos) return isProgram(command) ? command : "";
  const char* const path = std::getenv("PATH");
  const std::string places = path == nullptr ? "/bin:/usr/bin" : path;
  for (size_t begin = 0; begin <= places.size();) {
    const size_t end = std::min(places.find(':', begin), places.size());
    const std::string place = places.substr(begin, end - begin);
    const std::string file = (place.empty() ? "." : place) + "/" + command;
    if (isProgram(file)) return file;
    begin = end + 1;
  }
  return "";
}

/// The privileges that exec(2) would give the program beyond its caller's (AT_SECURE in
/// getauxval(3)).
std::string rightsOf(const std::string& path) {
  struct stat file;
  struct statvfs system;
  if (::stat(path.c_str(), &file) != 0) return "";
  if (::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return "";
  if (::statvfs(path.c_str(), &system) == 0 && (system.f_flag & ST_NOSUID) != 0) return "";
  if ((file.st_mode & S_ISUID) != 0 && file.st_uid != ::getuid()) {
    const passwd* const user = ::getpwuid(file.st_uid);
    return "set-user-id to " +
           (user != nullptr ? std::string(user->pw_name) : std::to_string(file.st_uid));
  }
  if ((file.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && file.st_gid != ::getgid()) {
    const group* const them = ::getgrgid(file.st_gid);
    return "set-group-id to " +
           (them != nullptr ? std::string(them->gr_name) : std::to_string(file.st_gid));
  }
  if (::getuid() != 0 && ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0) {
    return "given capabilities by its file";
  }
  return "";
}

bool isScript(const std::string& path) {
  char begin[2] = {};
  if (std::FILE* const file = std::fopen(path.c_str(), "rbe")) {
    const size_t n = std::fread(begin, 1, sizeof begin, file);
    std::fclose(file);
    return n == sizeof begin && begin[0] == '#' && begin[1] == '!';
  }
  return false;
}

}  // namespace

ProgramEligibility checkEligibility(const std::string& command) {
  ProgramEligibility r;
  r.path = fileOf(command);
  // a script runs with its interpreter's privileges
  if (r.path.empty() || isScript(r.path)) return r;
  r.why = rightsOf(r.path);
  if (!r.why.empty()) {
    r.eligibility = Eligibility::kPrivileged;
  } else if (isStatic(r.path)) {
    r.eligibility = Eligibility::kStatic;
  }
  return r;
}

}  // namespace tracesmith
