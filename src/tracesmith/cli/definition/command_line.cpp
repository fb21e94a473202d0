// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/definition/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "tracesmith/cli/definition/help_text.hpp"
#include "tracesmith/cli/terminal/messages.hpp"
#include "tracesmith/cli/terminal/standard_output.hpp"
#include "tracesmith/cli/terminal/suggest.hpp"

namespace tracesmith::cli {
namespace {

bool looksLikeOption(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

/// All spellings of the options: "--output", "-o".
std::vector<std::string> spellings(const std::vector<OptionDoc>& options) {
  std::vector<std::string> out;
  for (const OptionDoc& option : options) {
    if (option.positional) continue;
    if (!option.short_name.empty()) out.push_back("-" + option.short_name);
    for (const std::string& name : option.long_names) out.push_back("--" + name);
  }
  return out;
}

std::string unknownOption(const std::string& word, const std::vector<OptionDoc>& options) {
  const std::string name = word.substr(0, word.find('='));
  const std::string near = closest(name, spellings(options));
  return near.empty() ? fmt::format("unknown option '{}'", name)
                      : fmt::format("unknown option '{}'; did you mean '{}'?", name, near);
}

const OptionDoc* findShort(char name, const std::vector<OptionDoc>& options) {
  for (const OptionDoc& option : options) {
    if (option.short_name.size() == 1 && option.short_name[0] == name) return &option;
  }
  return nullptr;
}

/// Whether `word` is an option that takes the next word as its value.
bool valueFollows(const std::string& word, const std::vector<OptionDoc>& options) {
  if (word[1] != '-') {
    // "-o FILE", or with switches before it as in "-qo FILE"; "-oFILE" already contains its value.
    for (size_t i = 1; i < word.size(); ++i) {
      const OptionDoc* option = findShort(word[i], options);
      if (option == nullptr) return false;
      if (!option->value_name.empty()) return i + 1 == word.size();
    }
    return false;
  }
  for (const OptionDoc& option : options) {
    if (option.positional || option.value_name.empty()) continue;
    for (const std::string& name : option.long_names) {
      if (word == "--" + name) return true;
    }
  }
  return false;
}

/// Index of the first word of the program's command line; `arguments.size()` if there is none. Sets
/// `behind` to the end of TraceSmith's own options ("--" belongs to neither).
size_t findProgram(const std::vector<std::string>& arguments, const std::vector<OptionDoc>& options,
                   size_t& behind) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    behind = i;
    if (arguments[i] == "--") return i + 1;
    if (!looksLikeOption(arguments[i])) return i;
    if (valueFollows(arguments[i], options)) ++i;
  }
  behind = arguments.size();
  return arguments.size();
}

/// Moves the arguments after "--" out of `own`, except options: "diff a*.sbt -- b*.sbt --json".
std::vector<std::string> takeSecondGroup(std::vector<std::string>& own,
                                         const std::vector<OptionDoc>& options) {
  std::vector<std::string> group;
  const auto dashes = std::find(own.begin(), own.end(), "--");
  if (dashes == own.end()) return group;
  const std::vector<std::string> behind(dashes + 1, own.end());
  own.erase(dashes, own.end());
  for (size_t i = 0; i < behind.size(); ++i) {
    if (!looksLikeOption(behind[i])) {
      group.push_back(behind[i]);
      continue;
    }
    own.push_back(behind[i]);
    if (valueFollows(behind[i], options) && i + 1 < behind.size()) own.push_back(behind[++i]);
  }
  return group;
}

/// Rephrases CLI11's errors; the text of most of them starts with its option names.
std::string describe(const CLI::ParseError& error) {
  const std::string kind = error.get_name();
  std::string text = error.what();
  if (kind == "ArgumentMismatch") {
    const std::string option = text.substr(0, text.find(':'));
    return fmt::format("option '{}' needs a value", option);
  }
  if (kind == "RequiredError") {
    return text.substr(0, text.find(" is required")) + " is missing";
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

int refuseCommandLine(const std::string& where, const std::string& what, const std::string& usage,
                      const std::string& help, int code) {
  say(where.empty() ? what : where + ": " + what);
  say("usage: " + usage + "  (more: " + help + ")");
  return code;
}

int runCommand(Command& command, const CommandSet& commands,
               const std::vector<std::string>& arguments, bool no_colour) {
  const Result<ParsedOptions> parsed = parseOptions(command, arguments);
  if (!parsed) {
    return refuseCommandLine(command.name(), parsed.error().message, command.usage(),
                             "tracesmith " + command.name() + " -h", command.usageExitCode());
  }
  Session session{commands, detectTerminal(no_colour || command.noColour()), parsed->program,
                  parsed->second_group};
  if (!parsed->help) return command.run(session);
  Output out = standardOutput();
  out.write(helpText(command, session.terminal));
  return finishOutput(out, kExitOk);
}

int runWithoutCommand(const CommandSet& commands, bool version, bool no_colour) {
  const Terminal terminal = detectTerminal(no_colour);
  Output out = standardOutput();
  out.write((version ? versionText(terminal) : overviewText(commands, terminal)));
  return finishOutput(out, kExitOk);
}

}  // namespace

Result<ParsedOptions> parseOptions(Command& command, const std::vector<std::string>& arguments) {
  const std::vector<OptionDoc> options = command.options();
  ParsedOptions out;
  std::vector<std::string> own = arguments;
  if (command.takesProgram()) {
    size_t behind = 0;
    const size_t program = findProgram(arguments, options, behind);
    own.resize(behind);
    out.program.assign(arguments.begin() + static_cast<std::ptrdiff_t>(program), arguments.end());
  }

  if (command.takesSecondGroup()) out.second_group = takeSecondGroup(own, options);

  // CLI11 reports missing arguments before unknown ones, but the unknown word is the better hint.
  const auto unknown = [&]() -> std::string {
    std::string first;
    for (const std::string& word : command.app().remaining()) {
      if (looksLikeOption(word)) return unknownOption(word, options);
      if (first.empty()) first = word;
    }
    return first.empty() ? "" : fmt::format("unexpected argument '{}'", first);
  };

  command.app().allow_extras();
  std::reverse(own.begin(), own.end());  // CLI11 expects them in reverse order
  try {
    command.app().parse(std::move(own));
  } catch (const CLI::CallForHelp&) {
    out.help = true;
    return out;
  } catch (const CLI::ParseError& error) {
    const std::string word = unknown();
    return fail(ErrorCode::kInvalidArgument, word.empty() ? describe(error) : word);
  }
  const std::string word = unknown();
  if (!word.empty()) return fail(ErrorCode::kInvalidArgument, word);
  return out;
}

int runCommandLine(const std::vector<std::string>& arguments) {
  const CommandSet commands;
  const std::string usage = "tracesmith [--no-color] COMMAND [OPTIONS]";
  bool no_colour = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--no-color") {
      no_colour = true;
    } else if (word == "-h" || word == "--help") {
      return runWithoutCommand(commands, false, no_colour);
    } else if (word == "-V" || word == "-v" || word == "--version") {
      return runWithoutCommand(commands, true, no_colour);
    } else if (looksLikeOption(word)) {
      return refuseCommandLine("", unknownOption(word, globalOptions()), usage, "tracesmith help",
                               kExitUsage);
    } else if (Command* command = commands.find(word)) {
      const std::vector<std::string> rest(arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                          arguments.end());
      return runCommand(*command, commands, rest, no_colour);
    } else {
      return refuseCommandLine("", commands.whyUnknown(word), usage, "tracesmith help", kExitUsage);
    }
  }
  return runWithoutCommand(commands, false, no_colour);
}

}  // namespace tracesmith::cli
