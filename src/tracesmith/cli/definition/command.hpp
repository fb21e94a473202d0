// SPDX-License-Identifier: Apache-2.0
// A subcommand: its name, summary, options (one CLI11 App) and examples. Help, completion, the
// manual page and the reference in docs/ are generated from this definition.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tracesmith/cli/terminal/exit_code.hpp"
#include "tracesmith/cli/terminal/terminal.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tracesmith::cli {

/// What a shell completes for a value.
enum class Complete : uint8_t { kNothing, kFile, kDirectory, kChoice, kCommandName };

/// One option or positional argument, for documentation.
struct OptionDoc {
  std::string short_name;               ///< "o", or ""
  std::vector<std::string> long_names;  ///< {"output"}; the first is the main one
  std::string value_name;               ///< "FILE"; "" for a switch
  std::string description;
  Complete complete = Complete::kNothing;
  std::vector<std::string> choices;
  bool positional = false;
  bool required = false;
};

struct Example {
  std::string line;
  std::string meaning;
};

/// An option of a command that is being defined. It hides CLI11, whose header alone takes longer to
/// compile than a command.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  const Option& required() const;
  /// For an option that may be repeated: each occurrence takes exactly one value.
  const Option& oneEach() const;
  const Option& needs(const Option& other) const;
  const Option& excludes(const Option& other) const;
  /// Rejects `value`, which is not a choice but a likely attempt, with the message `why`.
  const Option& explain(const std::string& value, const std::string& why) const;

 private:
  CLI::Option* option_;
};

class CommandSet;

/// What a running command needs besides its own options.
struct Session {
  const CommandSet& commands;
  Terminal terminal;
  std::vector<std::string> program;  ///< the command line after "--", for profile and record
  /// The arguments after "--", for a command that compares two groups; options among them count as
  /// the command's own.
  std::vector<std::string> second_group;
};

class Command {
 public:
  virtual ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  /// Returns the exit code. Results go to standard output, everything else to standard error.
  virtual int run(Session& session) = 0;

  const std::string& name() const { return name_; }
  const std::string& summary() const { return summary_; }  ///< one line, no full stop
  const std::vector<std::string>& paragraphs() const { return paragraphs_; }
  const std::vector<Example>& examples() const { return examples_; }
  std::string usage() const;               ///< "tracesmith view [OPTIONS] FILE"
  std::vector<OptionDoc> options() const;  ///< in order of definition, global options last
  bool takesProgram() const { return takes_program_; }
  bool takesSecondGroup() const { return !second_group_.empty(); }
  int usageExitCode() const { return usage_exit_code_; }
  CLI::App& app() { return *app_; }
  bool noColour() const { return no_colour_; }

 protected:
  Command(std::string name, std::string summary);

  // The bound variables must live as long as the command.
  /// "--flows,!--no-flows": the second name switches it off.
  Option flag(const std::string& names, bool& out, const std::string& description);
  Option text(const std::string& names, std::string& out, const std::string& value_name,
              const std::string& description, Complete complete = Complete::kNothing);
  /// One or more positional arguments.
  Option texts(const std::string& name, std::vector<std::string>& out,
               const std::string& value_name, const std::string& description,
               Complete complete = Complete::kNothing);
  Option choice(const std::string& names, std::string& out, const std::string& value_name,
                std::vector<std::string> choices, const std::string& description);
  /// "--name" alone means `meant`; other choices are given as "--name=CHOICE".
  Option flagWithChoice(const std::string& name, std::string& out, const std::string& meant,
                        std::vector<std::string> choices, const std::string& description);
  /// May be repeated, and takes several values separated by commas.
  Option choices(const std::string& names, std::vector<std::string>& out,
                 const std::string& value_name, std::vector<std::string> choices,
                 const std::string& description);
  Option counts(const std::string& names, std::vector<uint64_t>& out, const std::string& value_name,
                const std::string& description);
  Option count(const std::string& names, std::optional<uint64_t>& out,
               const std::string& value_name, const std::string& description);
  Option time(const std::string& names, std::optional<int64_t>& out_ns,
              const std::string& description);
  Option size(const std::string& names, std::optional<uint64_t>& out_bytes,
              const std::string& description);

  void describe(std::string paragraph) { paragraphs_.push_back(std::move(paragraph)); }
  void example(std::string line, std::string meaning) {
    examples_.push_back({std::move(line), std::move(meaning)});
  }
  /// Everything from the first word that is not a TraceSmith option (or from "--") is the program's
  /// command line.
  void takeProgram(bool required) {
    takes_program_ = true;
    program_required_ = required;
  }
  /// "--" separates two groups of arguments; `value_name` is the name of the second one.
  void takeSecondGroup(std::string value_name) { second_group_ = std::move(value_name); }
  void setUsageExitCode(int code) { usage_exit_code_ = code; }

 private:
  struct Hint {
    Complete complete = Complete::kNothing;
    std::vector<std::string> choices;
  };

  std::string name_;
  std::string summary_;
  std::vector<std::string> paragraphs_;
  std::vector<Example> examples_;
  std::unique_ptr<CLI::App> app_;
  std::map<const CLI::Option*, Hint> hints_;
  std::string second_group_;
  bool takes_program_ = false;
  bool program_required_ = false;
  bool no_colour_ = false;
  int usage_exit_code_ = kExitUsage;
};

/// All commands, in the order of the overview.
class CommandSet {
 public:
  CommandSet();
  const std::vector<std::unique_ptr<Command>>& all() const { return commands_; }
  Command* find(const std::string& name) const;  ///< nullptr if there is none
  std::vector<std::string> names() const;
  /// For a name that find() does not know: what to say, with the name that may be meant.
  std::string whyUnknown(const std::string& name) const;

 private:
  std::vector<std::unique_ptr<Command>> commands_;
  std::vector<std::string> absent_;  // names of commands that the whole build has
};

/// Options that may stand before or after the command's name.
std::vector<OptionDoc> globalOptions();

}  // namespace tracesmith::cli
