// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/definition/man_page.hpp"

#include <fmt/format.h>

#include "tracesmith/base/version.hpp"
#include "tracesmith/cli/definition/help_text.hpp"

namespace tracesmith::cli {
namespace {

constexpr const char* kWhatItIs =
    "TraceSmith records what a program does on a GPU in one small crash-safe file (.sbt), and "
    "explains it. The program does not have to be changed or rebuilt.";

struct Meaning {
  const char* word;
  const char* text;
};

constexpr Meaning kExitCodes[] = {
    {"0", "Done."},
    {"1", "Failed: the input could not be read, or the output not be written."},
    {"2", "Wrong command line; nothing was done."},
    {"3",
     "The trace is damaged or truncated. The readable part was used; standard error names the "
     "rest."},
    {"4",
     "Replay: the results differ from the recording. Races, determinism: something was found."},
};

constexpr const char* kProgramExitCodes =
    "profile, and record with a program, exit with the program's exit code; if a signal ended the "
    "program, they end by the same signal. 125 means that TraceSmith prevented the start "
    "(including a wrong command line), 126 that the program cannot be executed, 127 that it was "
    "not found. Errors after the start are printed on standard error and do not change the "
    "program's exit code.";

constexpr Meaning kEnvironment[] = {
    {"NO_COLOR", "Disables colours if set to a non-empty value."},
    {"COLUMNS", "Width of tables and pictures (default: that of the terminal)."},
    {"LC_ALL, LC_CTYPE, LANG", "Whether the terminal shows more than ASCII."},
};

/// roff: a backslash is an escape, a leading dot or quote a request, and "-" a hyphen.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) {
      out += "\\&";
      out += c;
    } else {
      out += c;
    }
  }
  return out;
}

std::string roffSection(const std::string& title) { return ".SH \"" + title + "\"\n"; }

std::string roffItem(const std::string& heading, const std::string& text) {
  return ".TP\n\\fB" + roff(heading) + "\\fR\n" + roff(text) + "\n";
}

/// Markdown: what would be read as markup. Only used outside code.
std::string md(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '*' || c == '_' || c == '<' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string manPage(const CommandSet& commands) {
  std::string out = fmt::format(
      ".\\\" Made by `tracesmith man`.\n.TH TRACESMITH 1 \"\" \"TraceSmith {}\" \"User "
      "Commands\"\n",
      getVersionString());
  out += roffSection("NAME") + "tracesmith \\- record and explain what a program does on a GPU\n";
  out += roffSection("SYNOPSIS") + ".nf\n";
  for (const auto& command : commands.all()) {
    out += "\\fB" + roff(command->usage()) + "\\fR\n";
  }
  out += ".fi\n" + roffSection("DESCRIPTION") + roff(kWhatItIs) + "\n";
  out += roffSection("GLOBAL OPTIONS");
  for (const OptionDoc& option : globalOptions()) {
    out += roffItem(optionHeading(option), option.description + ".");
  }
  for (const auto& command : commands.all()) {
    out += roffSection("TRACESMITH " + command->name());
    out += "\\fB" + roff(command->usage()) + "\\fR\n.PP\n" + roff(command->summary()) + ".\n";
    for (const std::string& paragraph : command->paragraphs())
      out += ".PP\n" + roff(paragraph) + "\n";
    for (const OptionDoc& option : command->options()) {
      if (!option.long_names.empty() &&
          (option.long_names[0] == "help" || option.long_names[0] == "no-color")) {
        continue;  // said once, under the global options
      }
      out += roffItem(optionHeading(option), optionMeaning(option) + ".");
    }
    for (const Example& example : command->examples()) {
      out += ".PP\n" + roff(example.meaning) + ":\n.PP\n.RS 4\n.nf\n" + roff(example.line) +
             "\n.fi\n.RE\n";
    }
  }
  out += roffSection("EXIT STATUS");
  for (const Meaning& code : kExitCodes) out += roffItem(code.word, code.text);
  out += ".PP\n" + roff(kProgramExitCodes) + "\n" + roffSection("ENVIRONMENT");
  for (const Meaning& variable : kEnvironment) out += roffItem(variable.word, variable.text);
  return out;
}

std::string markdownReference(const CommandSet& commands) {
  std::string out =
      "# The `tracesmith` command\n\n"
      "<!-- Made by `tracesmith man --markdown`; a test compares. Change the definitions in "
      "src/tracesmith/cli instead. -->\n\n";
  out += wrap(kWhatItIs, 0, 100);
  out += "\n| command | what it does |\n|---|---|\n";
  for (const auto& command : commands.all()) {
    out += fmt::format("| [`{0}`](#tracesmith-{0}) | {1} |\n", command->name(),
                       md(command->summary()));
  }
  out +=
      "\nThese options may stand before the command's name, and (but for the version) after "
      "it:\n\n";
  for (const OptionDoc& option : globalOptions()) {
    out += fmt::format("- `{}`: {}\n", optionHeading(option), md(option.description));
  }
  for (const auto& command : commands.all()) {
    out += fmt::format("\n## tracesmith {}\n\n```\n{}\n```\n\n", command->name(), command->usage());
    out += wrap(md(command->summary()) + ".", 0, 100);
    for (const std::string& paragraph : command->paragraphs()) {
      out += "\n" + wrap(md(paragraph), 0, 100);
    }
    std::string rows;
    for (const OptionDoc& option : command->options()) {
      if (!option.long_names.empty() &&
          (option.long_names[0] == "help" || option.long_names[0] == "no-color")) {
        continue;
      }
      rows += fmt::format("| `{}` | {} |\n", optionHeading(option), md(optionMeaning(option)));
    }
    if (!rows.empty()) out += "\n| option | meaning |\n|---|---|\n" + rows;
    if (!command->examples().empty()) {
      out += "\n```sh\n";
      for (const Example& example : command->examples()) {
        out += fmt::format("# {}\n{}\n", example.meaning, example.line);
      }
      out += "```\n";
    }
  }
  out += "\n## Exit codes\n\n| code | meaning |\n|---|---|\n";
  for (const Meaning& code : kExitCodes)
    out += fmt::format("| {} | {} |\n", code.word, md(code.text));
  out += "\n" + wrap(md(kProgramExitCodes), 0, 100) + "\n## Environment\n\n";
  for (const Meaning& variable : kEnvironment) {
    out += fmt::format("- `{}`: {}\n", variable.word, md(variable.text));
  }
  return out;
}

}  // namespace tracesmith::cli
