// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/definition/help_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tracesmith/base/version.hpp"
#include "tracesmith/cli/terminal/line_editor.hpp"
#include "tracesmith/cli/terminal/screen.hpp"
#include "tracesmith/cli/terminal/values.hpp"
#include "tracesmith/export/text/wrapped_text.hpp"

namespace tracesmith::cli {
namespace {

constexpr const char* kBannerLines[] = {
    "████████╗██████╗  █████╗  ██████╗███████╗███████╗███╗   ███╗██╗████████╗██╗  ██╗",
    "╚══██╔══╝██╔══██╗██╔══██╗██╔════╝██╔════╝██╔════╝████╗ ████║██║╚══██╔══╝██║  ██║",
    "   ██║   ██████╔╝███████║██║     █████╗  ███████╗██╔████╔██║██║   ██║   ███████║",
    "   ██║   ██╔══██╗██╔══██║██║     ██╔══╝  ╚════██║██║╚██╔╝██║██║   ██║   ██╔══██║",
    "   ██║   ██║  ██║██║  ██║╚██████╗███████╗███████║██║ ╚═╝ ██║██║   ██║   ██║  ██║",
    "   ╚═╝   ╚═╝  ╚═╝╚═╝  ╚═╝ ╚═════╝╚══════╝╚══════╝╚═╝     ╚═╝╚═╝   ╚═╝   ╚═╝  ╚═╝",
};
constexpr int kBannerColumns = 82;
constexpr const char* kTitle = "GPU Profiling & Replay System";

class Style {
 public:
  explicit Style(bool colour) : colour_(colour) {}
  std::string heading(const std::string& text) const { return paint("1", text); }
  std::string word(const std::string& text) const { return paint("36", text); }
  std::string bannerLine(const std::string& text) const { return paint("1;36", text); }

 private:
  std::string paint(const char* code, const std::string& text) const {
    return colour_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  }
  bool colour_;
};

size_t textWidth(const Terminal& terminal) {
  return terminal.width > 0 ? static_cast<size_t>(std::clamp(terminal.width, 40, 100)) : 90;
}

/// Prints a name in the left column and its meaning in the right one.
std::string twoColumns(const std::string& left, const std::string& painted,
                       const std::string& right, size_t column, size_t width) {
  const std::string body = wrap(right, column, width);
  if (left.size() + 4 > column) return "  " + painted + "\n" + body;
  return "  " + painted + std::string(column - left.size() - 2, ' ') + body.substr(column);
}

}  // namespace

std::string wrap(const std::string& text, size_t indent, size_t width) {
  std::string out;
  const size_t room = width > indent ? width - indent : 1;
  for (const std::string& line : wrapText(text, static_cast<int>(room))) {
    out += std::string(indent, ' ') + line + "\n";
  }
  return out;
}

std::string banner(const Terminal& terminal) {
  if (!terminal.out_is_terminal || !terminal.utf8 || terminal.width < kBannerColumns) return "";
  const Style style(terminal.colour);
  std::string out = "\n";
  for (const char* line : kBannerLines) out += style.bannerLine(line) + "\n";
  return out + fmt::format("\n{:>49} v{}\n\n", kTitle, getVersionString());
}

std::string versionText(const Terminal& terminal) {
  std::string out = banner(terminal) + fmt::format("TraceSmith {}\n", getVersionString());
  if (terminal.out_is_terminal && !hasLineEditor()) {  // a program gets one line
    out += "Built without libedit: the prompt of 'tracesmith query' has no line editing.\n";
  }
  if (terminal.out_is_terminal && !hasScreen()) {
    out += "Built without ncurses: 'tracesmith view --timeline' has no --interactive.\n";
  }
  return out;
}

std::string optionHeading(const OptionDoc& option) {
  if (option.positional) return option.value_name;
  std::string out;
  if (!option.short_name.empty()) out = "-" + option.short_name;
  for (const std::string& name : option.long_names) {
    out += (out.empty() ? "--" : ", --") + name;
  }
  if (!option.value_name.empty()) out += " " + option.value_name;
  return out;
}

std::string optionMeaning(const OptionDoc& option) {
  std::string out = option.description;
  if (!option.choices.empty()) out += fmt::format(" ({})", joinChoices(option.choices));
  return out;
}

std::string overviewText(const CommandSet& commands, const Terminal& terminal) {
  const Style style(terminal.colour);
  const size_t width = textWidth(terminal);
  std::string out = banner(terminal);
  if (out.empty()) out = fmt::format("TraceSmith {}: {}\n\n", getVersionString(), kTitle);
  out += style.heading("Usage:") + " tracesmith [--no-color] COMMAND [OPTIONS]\n\n";
  out += style.heading("Commands:") + "\n";
  for (const auto& command : commands.all()) {
    out += twoColumns(command->name(), style.word(command->name()), command->summary(), 15, width);
  }
  out += "\n" + style.heading("Start with:") + "\n";
  if (commands.find("profile") != nullptr) {
    out += "  tracesmith profile -- ./my_gpu_program     record a program\n";
  }
  out += "  tracesmith view trace.sbt --stats          show where the time went\n";
  out += "\nSee 'tracesmith help COMMAND' or 'tracesmith COMMAND -h' for details.\n";
  return out;
}

std::string helpText(const Command& command, const Terminal& terminal) {
  const Style style(terminal.colour);
  const size_t width = textWidth(terminal);
  std::string out = style.heading("Usage:") + " " + command.usage() + "\n\n";
  out += wrap(command.summary() + ".", 0, width);
  for (const std::string& paragraph : command.paragraphs()) out += "\n" + wrap(paragraph, 0, width);

  std::string arguments, options;
  for (const OptionDoc& option : command.options()) {
    const std::string heading = optionHeading(option);
    // Align options without a short name with the long names of the others.
    const bool indent = !option.positional && option.short_name.empty();
    const std::string left = (indent ? "    " : "") + heading;
    const std::string painted = (indent ? "    " : "") + style.word(heading);
    (option.positional ? arguments : options) +=
        twoColumns(left, painted, optionMeaning(option), 28, width);
  }
  if (!arguments.empty()) out += "\n" + style.heading("Arguments:") + "\n" + arguments;
  out += "\n" + style.heading("Options:") + "\n" + options;

  if (!command.examples().empty()) {
    out += "\n" + style.heading("Examples:") + "\n";
    for (const Example& example : command.examples()) {
      out += wrap(example.meaning + ":", 2, width) + "    " + style.word(example.line) + "\n";
    }
  }
  return out;
}

}  // namespace tracesmith::cli
