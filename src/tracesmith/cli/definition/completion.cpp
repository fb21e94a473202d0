// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/definition/completion.hpp"

#include <fmt/format.h>

namespace tracesmith::cli {
namespace {

std::string join(const std::vector<std::string>& words, const char* separator = " ") {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : separator) + word;
  return out;
}

std::vector<std::string> spellings(const OptionDoc& option) {
  std::vector<std::string> out;
  if (option.positional) return out;
  if (!option.short_name.empty()) out.push_back("-" + option.short_name);
  for (const std::string& name : option.long_names) out.push_back("--" + name);
  return out;
}

/// In single quotes, for any of the shells (fish reads \' inside them, so quote by leaving them).
std::string shellQuoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

/// The positional argument, when the command has one (none has two that a shell can complete).
OptionDoc firstPositional(const std::vector<OptionDoc>& options) {
  for (const OptionDoc& option : options) {
    if (option.positional) return option;
  }
  return {};
}

std::string bashOffer(const OptionDoc& option, const CommandSet& commands) {
  switch (option.complete) {
    case Complete::kFile:
      return "compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- \"$cur\"))";
    case Complete::kDirectory:
      return "compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- \"$cur\"))";
    case Complete::kChoice:
      return fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$cur\"))", join(option.choices));
    case Complete::kCommandName:
      return fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$cur\"))", join(commands.names()));
    case Complete::kNothing:
      break;
  }
  return "COMPREPLY=()";
}

std::string zshAction(const OptionDoc& option, const CommandSet& commands) {
  switch (option.complete) {
    case Complete::kFile:
      return "_files";
    case Complete::kDirectory:
      return "_files -/";
    case Complete::kChoice:
      return "(" + join(option.choices) + ")";
    case Complete::kCommandName:
      return "(" + join(commands.names()) + ")";
    case Complete::kNothing:
      break;
  }
  return " ";
}

/// zsh reads [ ] : in an option's description as its own.
std::string zshText(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string bashCompletion(const CommandSet& commands) {
  std::string out =
      "# bash completion for tracesmith; made by `tracesmith completion bash`.\n"
      "# shellcheck disable=SC2207\n"
      "_tracesmith() {\n"
      "  local cur prev command= i\n"
      "  cur=${COMP_WORDS[COMP_CWORD]}\n"
      "  prev=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  COMPREPLY=()\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    if [[ -z $command ]]; then\n"
      "      [[ ${COMP_WORDS[i]} == -* ]] || command=${COMP_WORDS[i]}\n"
      "    elif [[ ${COMP_WORDS[i]} == -- ]]; then\n"
      "      # The profiled program's own words: files are the best guess.\n"
      "      compopt -o filenames 2>/dev/null\n"
      "      if ((i == COMP_CWORD - 1)); then\n"
      "        COMPREPLY=($(compgen -c -f -- \"$cur\"))\n"
      "      else\n"
      "        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
      "      fi\n"
      "      return\n"
      "    fi\n"
      "  done\n"
      "  case $command in\n";
  std::vector<std::string> global;
  for (const OptionDoc& option : globalOptions()) {
    for (const std::string& name : spellings(option)) global.push_back(name);
  }
  std::vector<std::string> listed;
  for (const auto& command : commands.all()) listed.push_back(command->name());
  out += fmt::format("    '') COMPREPLY=($(compgen -W '{} {}' -- \"$cur\")) ;;\n", join(listed),
                     join(global));
  for (const auto& command : commands.all()) {
    const std::vector<OptionDoc> options = command->options();
    out += fmt::format("    {})\n      case $prev in\n", command->name());
    std::vector<std::string> all;
    for (const OptionDoc& option : options) {
      const std::vector<std::string> names = spellings(option);
      all.insert(all.end(), names.begin(), names.end());
      if (option.positional || option.value_name.empty()) continue;
      out +=
          fmt::format("        {}) {}; return ;;\n", join(names, "|"), bashOffer(option, commands));
    }
    out += fmt::format(
        "        *) ;;\n      esac\n"
        "      if [[ $cur == -* ]]; then\n"
        "        COMPREPLY=($(compgen -W '{}' -- \"$cur\"))\n"
        "      else\n"
        "        {}\n"
        "      fi ;;\n",
        join(all), bashOffer(firstPositional(options), commands));
  }
  out +=
      "    *) ;;\n"
      "  esac\n"
      "}\n"
      "complete -F _tracesmith tracesmith tracesmith-cli\n";
  return out;
}

std::string zshCompletion(const CommandSet& commands) {
  std::string out =
      "#compdef tracesmith tracesmith-cli\n"
      "# zsh completion for tracesmith; made by `tracesmith completion zsh`.\n"
      "_tracesmith() {\n"
      "  local curcontext=\"$curcontext\" state line\n"
      "  local -a commands\n"
      "  commands=(\n";
  for (const auto& command : commands.all()) {
    out += "    " + shellQuoted(command->name() + ":" + zshText(command->summary())) + "\n";
  }
  out +=
      "  )\n"
      "  _arguments -C \\\n";
  for (const OptionDoc& option : globalOptions()) {
    for (const std::string& name : spellings(option)) {
      out += "    " + shellQuoted(name + "[" + zshText(option.description) + "]") + " \\\n";
    }
  }
  out +=
      "    '1: :->command' '*:: :->arguments'\n"
      "  case $state in\n"
      "    command) _describe -t commands 'command' commands ;;\n"
      "    arguments)\n"
      "      case $words[1] in\n";
  for (const auto& command : commands.all()) {
    out += fmt::format("        {})\n          _arguments -s", command->name());
    for (const OptionDoc& option : command->options()) {
      const std::string meaning = "[" + zshText(option.description) + "]";
      if (option.positional) {
        out += " \\\n            " +
               shellQuoted("1:" + zshText(option.value_name) + ":" + zshAction(option, commands));
        continue;
      }
      for (const std::string& name : spellings(option)) {
        std::string spec = (name[1] == '-' && !option.value_name.empty() ? name + "=" : name);
        if (name[1] != '-' && !option.value_name.empty()) spec += "+";
        spec += meaning;
        if (!option.value_name.empty()) {
          spec += ":" + zshText(option.value_name) + ":" + zshAction(option, commands);
        }
        out += " \\\n            " + shellQuoted(spec);
      }
    }
    if (command->takesProgram()) out += " \\\n            '*::program:_normal'";
    out += " ;;\n";
  }
  out +=
      "      esac ;;\n"
      "  esac\n"
      "}\n"
      "# Loaded by compinit the file is the function; sourced it has to be made known.\n"
      "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
      "  _tracesmith \"$@\"\n"
      "else\n"
      "  compdef _tracesmith tracesmith tracesmith-cli\n"
      "fi\n";
  return out;
}

std::string fishCompletion(const CommandSet& commands) {
  std::string out = "# fish completion for tracesmith; made by `tracesmith completion fish`.\n";
  for (const char* program : {"tracesmith", "tracesmith-cli"}) {
    const std::string begin = fmt::format("complete -c {}", program);
    out += begin + " -f\n";
    for (const OptionDoc& option : globalOptions()) {
      out += begin + " -n __fish_use_subcommand";
      if (!option.short_name.empty()) out += " -s " + option.short_name;
      for (const std::string& name : option.long_names) out += " -l " + name;
      out += " -d " + shellQuoted(option.description) + "\n";
    }
    for (const auto& command : commands.all()) {
      out += fmt::format("{} -n __fish_use_subcommand -a {} -d {}\n", begin, command->name(),
                         shellQuoted(command->summary()));
    }
    for (const auto& command : commands.all()) {
      const std::string in =
          fmt::format("{} -n '__fish_seen_subcommand_from {}'", begin, command->name());
      for (const OptionDoc& option : command->options()) {
        std::string offer;
        if (option.complete == Complete::kFile) offer = " -F";
        if (option.complete == Complete::kDirectory) offer = " -a '(__fish_complete_directories)'";
        if (option.complete == Complete::kChoice)
          offer = " -a " + shellQuoted(join(option.choices));
        if (option.complete == Complete::kCommandName) {
          offer = " -a " + shellQuoted(join(commands.names()));
        }
        if (option.positional) {
          if (!offer.empty()) out += in + offer + "\n";
          continue;
        }
        out += in;
        if (!option.short_name.empty()) out += " -s " + option.short_name;
        for (const std::string& name : option.long_names) out += " -l " + name;
        if (!option.value_name.empty()) out += " -r" + offer;
        out += " -d " + shellQuoted(option.description) + "\n";
      }
      if (command->takesProgram())
        out += in + " -F -a '(__fish_complete_subcommand --fcs-skip=2)'\n";
    }
  }
  return out;
}

}  // namespace tracesmith::cli
