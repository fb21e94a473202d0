// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/capture/devices/devices.hpp"
#include "tracesmith/cli/commands/commands.hpp"
#include "tracesmith/cli/terminal/standard_output.hpp"
#include "tracesmith/cli/views/devices_advice.hpp"
#include "tracesmith/cli/views/devices_view.hpp"

namespace tracesmith::cli {
namespace {

class DevicesCommand : public Command {
 public:
  DevicesCommand() : Command("devices", "List the devices of each backend") {
    flag("--json", json_, "Print JSON");
    describe(
        "For a backend without devices, shows the reason: the missing library and where it was "
        "searched for, or the library's answer. Ends with what can be recorded here, and what to "
        "do "
        "so that more can.");
    example("tracesmith devices", "List all devices");
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
      out.put('\n');
      out.write(nextStepsText(reports));
    }
    return finishOutput(out, kExitOk);
  }

 private:
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> makeDevicesCommand() { return std::make_unique<DevicesCommand>(); }

}  // namespace tracesmith::cli
