// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/definition/command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "tracesmith/cli/terminal/suggest.hpp"
#include "tracesmith/cli/terminal/values.hpp"

namespace tracesmith::cli {
namespace {

/// The text that CLI11 shows after the option's name when it rejects a value; "" accepts the value.
std::string refuse(const std::string& value, const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return "";
  const std::string near = closest(value, choices);
  const std::string hint = near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
  return fmt::format("'{}' is not one of {}{}", value, joinChoices(choices), hint);
}

template <class T>
std::string store(const Result<T>& parsed, std::optional<T>& out) {
  if (!parsed) return parsed.error().message;
  out = *parsed;
  return "";
}

/// If an option is repeated, its last value counts, as in other commands.
CLI::Option* single(CLI::Option* option, const std::string& value_name) {
  return option->type_name(value_name)->take_last();
}

}  // namespace

const Option& Option::required() const {
  option_->required();
  return *this;
}

const Option& Option::oneEach() const {
  option_->allow_extra_args(false);
  return *this;
}

const Option& Option::needs(const Option& other) const {
  option_->needs(other.option_);
  return *this;
}

const Option& Option::excludes(const Option& other) const {
  option_->excludes(other.option_);
  return *this;
}

const Option& Option::explain(const std::string& value, const std::string& why) const {
  // Transformations run before the check of the choices.
  option_->transform(CLI::Validator(
      [value, why](std::string& given) { return given == value ? why : std::string(); }, ""));
  return *this;
}

Command::~Command() = default;

Command::Command(std::string name, std::string summary)
    : name_(std::move(name)),
      summary_(std::move(summary)),
      app_(std::make_unique<CLI::App>(summary_, "tracesmith " + name_)) {
  app_->set_help_flag("-h,--help", "Show this help")->group("Global");
  app_->add_flag("--no-color", no_colour_, "Disable colours (as NO_COLOR does)")->group("Global");
}

Option Command::flag(const std::string& names, bool& out, const std::string& description) {
  return Option(app_->add_flag(names, out, description));
}

Option Command::text(const std::string& names, std::string& out, const std::string& value_name,
                     const std::string& description, Complete complete) {
  CLI::Option* option = single(app_->add_option(names, out, description), value_name);
  hints_[option] = {complete, {}};
  return Option(option);
}

Option Command::choice(const std::string& names, std::string& out, const std::string& value_name,
                       std::vector<std::string> choices, const std::string& description) {
  CLI::Option* option = single(app_->add_option(names, out, description), value_name);
  option->check([choices](const std::string& value) { return refuse(value, choices); });
  hints_[option] = {Complete::kChoice, std::move(choices)};
  return Option(option);
}

Option Command::flagWithChoice(const std::string& name, std::string& out, const std::string& meant,
                               std::vector<std::string> choices, const std::string& description) {
  CLI::Option* option = app_->add_flag(name + '{' + meant + '}', out, description);
  option->check([choices](const std::string& value) { return refuse(value, choices); });
  return Option(option);
}

Option Command::texts(const std::string& name, std::vector<std::string>& out,
                      const std::string& value_name, const std::string& description,
                      Complete complete) {
  CLI::Option* option = app_->add_option(name, out, description)->type_name(value_name);
  hints_[option] = {complete, {}};
  return Option(option);
}

Option Command::choices(const std::string& names, std::vector<std::string>& out,
                        const std::string& value_name, std::vector<std::string> choices,
                        const std::string& description) {
  // Without allow_extra_args(false), CLI11 would also take the following words, including FILE.
  CLI::Option* option = app_->add_option(names, out, description)
                            ->type_name(value_name)
                            ->delimiter(',')
                            ->allow_extra_args(false);
  option->check([choices](const std::string& value) { return refuse(value, choices); });
  hints_[option] = {Complete::kChoice, std::move(choices)};
  return Option(option);
}

Option Command::counts(const std::string& names, std::vector<uint64_t>& out,
                       const std::string& value_name, const std::string& description) {
  return Option(app_->add_option(names, out, description)
                    ->type_name(value_name)
                    ->delimiter(',')
                    ->allow_extra_args(false)
                    ->check([](const std::string& value) {
                      const Result<uint64_t> parsed = parseCount(value);
                      return parsed ? std::string() : parsed.error().message;
                    }));
}

// CLI11 keeps the text of a parsed value; the check converts it to the value.
Option Command::count(const std::string& names, std::optional<uint64_t>& out,
                      const std::string& value_name, const std::string& description) {
  return Option(
      single(app_->add_option(names, description), value_name)
          ->expected(1)
          ->check([&out](const std::string& value) { return store(parseCount(value), out); }));
}

Option Command::time(const std::string& names, std::optional<int64_t>& out_ns,
                     const std::string& description) {
  return Option(single(app_->add_option(names, description), "TIME")
                    ->expected(1)
                    ->check([&out_ns](const std::string& value) {
                      return store(parseTimeNs(value), out_ns);
                    }));
}

Option Command::size(const std::string& names, std::optional<uint64_t>& out_bytes,
                     const std::string& description) {
  return Option(single(app_->add_option(names, description), "BYTES")
                    ->expected(1)
                    ->check([&out_bytes](const std::string& value) {
                      return store(parseSizeBytes(value), out_bytes);
                    }));
}

std::string Command::usage() const {
  std::string out = "tracesmith " + name_;
  std::string positionals;
  bool has_options = false;
  for (const OptionDoc& option : options()) {
    if (option.positional) {
      positionals += option.required ? " " + option.value_name : " [" + option.value_name + "]";
    } else if (option.long_names.empty() ||
               (option.long_names[0] != "help" && option.long_names[0] != "no-color")) {
      has_options = true;
    }
  }
  if (has_options) out += " [OPTIONS]";
  out += positionals;
  if (!second_group_.empty()) out += " [-- " + second_group_ + "...]";
  if (takes_program_)
    out += program_required_ ? " -- PROGRAM [ARGS...]" : " [-- PROGRAM [ARGS...]]";
  return out;
}

std::vector<OptionDoc> Command::options() const {
  std::vector<OptionDoc> own, global;
  for (const CLI::Option* option : app_->get_options()) {
    OptionDoc doc;
    doc.positional = option->get_positional();
    if (!option->get_snames().empty()) doc.short_name = option->get_snames()[0];
    doc.long_names = option->get_lnames();
    const bool takes_value = option->get_items_expected_max() > 0;
    if (doc.positional) {
      doc.value_name = option->get_name(true);
      if (option->get_items_expected_max() > 1) doc.value_name += "...";
    } else if (takes_value) {
      doc.value_name = option->get_type_name();
    }
    doc.description = option->get_description();
    doc.required = option->get_required();
    const auto hint = hints_.find(option);
    if (hint != hints_.end()) {
      doc.complete = hint->second.complete;
      doc.choices = hint->second.choices;
    }
    (option->get_group() == "Global" ? global : own).push_back(std::move(doc));
  }
  own.insert(own.end(), global.begin(), global.end());
  return own;
}

Command* CommandSet::find(const std::string& name) const {
  for (const auto& command : commands_) {
    if (command->name() == name) return command.get();
  }
  return nullptr;
}

std::vector<std::string> CommandSet::names() const {
  std::vector<std::string> names;
  for (const auto& command : commands_) names.push_back(command->name());
  return names;
}

std::vector<OptionDoc> globalOptions() {
  OptionDoc help{"h", {"help"}, "", "Show this help", {}, {}, false, false};
  OptionDoc version{"V", {"version"}, "", "Show the version and exit", {}, {}, false, false};
  OptionDoc colour{"", {"no-color"}, "",    "Disable colours (as NO_COLOR does)",
                   {}, {},           false, false};
  return {help, version, colour};
}

}  // namespace tracesmith::cli
