// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/devices/devices.hpp"
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/terminal/standard_output.hpp"
#include "tracesmith/cli/views/devices_view.hpp"

namespace tracesmith::cli {
namespace {

class DevicesCommand : public Command {
 public:
  DevicesCommand() : Command("devices", "List the devices that each backend sees") {
    flag("--json", json_, "As JSON");
    describe(
        "For a backend without devices it says why: which library is missing and where it was "
        "looked for, or what the library answered.");
    example("tracesmith devices", "What is there to record on?");
  }

  int run(Session& session) override {
    const std::vector<BackendReport> reports = probeBackends();
    Output out = standardOutput();
    if (json_) {
      JsonWriter json(out, 2);
      writeDevicesJson(json, reports);
      out.put('\n');
    } else {
      out.write(devicesText(reports, session.terminal.colour));
    }
    return finishOutput(out, kExitOk);
  }

 private:
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> makeDevicesCommand() { return std::make_unique<DevicesCommand>(); }

}  // namespace tracesmith::cli
