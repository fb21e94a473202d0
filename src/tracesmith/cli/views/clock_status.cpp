// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/cli/views/clock_status.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "tracesmith/base/human_units.hpp"
#include "tracesmith/cli/terminal/messages.hpp"

namespace tracesmith::cli {
namespace {

std::string utcText(const DaemonTime& time, const char* micro) {
  const auto duration = [&](int64_t ns) { return formatDuration(ns, micro); };
  return fmt::format(
      "{} follows {} (stratum {})\n"
      "UTC is known to    {}: half of the root delay of {}, and a dispersion of {}\n"
      "the system clock   is {} {} UTC, as far as {} knows\n",
      time.daemon, printable(time.source), time.stratum, duration(time.error),
      duration(time.root_delay), duration(time.dispersion), duration(std::abs(time.behind_utc)),
      time.behind_utc < 0 ? "ahead of" : "behind", time.daemon);
}

/// "port 1 (eth0, SLAVE)".
std::string portText(const PtpPort& port) {
  return fmt::format("port {} ({}{})", port.number,
                     port.interface.empty() ? "" : printable(port.interface) + ", ",
                     ptpPortStateName(port.state));
}

/// The clock that ptp4l compares with its master's: that of its stamps.
std::string stampedClockText(const PtpPort& port) {
  switch (port.stamps) {
    case PtpPort::Stamps::kSoftware:
      return "the system clock";
    case PtpPort::Stamps::kHardware:
      return "the clock of " + printable(port.interface);
    case PtpPort::Stamps::kNotTold:
      break;
  }
  return "ptp4l's clock";
}

std::string_view stampsText(PtpPort::Stamps stamps) {
  switch (stamps) {
    case PtpPort::Stamps::kSoftware:
      return "software";
    case PtpPort::Stamps::kHardware:
      return "hardware";
    case PtpPort::Stamps::kNotTold:
      break;
  }
  return "not told";
}

std::string timescaleText(const PtpStatus& ptp) {
  if (!ptp.is_on_ptp_scale) return "";
  if (!*ptp.is_on_ptp_scale) return "; its time is one of its own, not TAI";
  return ptp.utc_offset ? fmt::format("; its time is TAI, {} s ahead of UTC", *ptp.utc_offset)
                        : "; its time is TAI";
}

std::string ptpText(const PtpStatus& ptp, const char* micro) {
  const PtpPort* const port = ptp.followingPort();
  if (port == nullptr) {
    std::string text = ptp.steps_removed == 0 && ptp.grandmaster == ptp.clock
                           ? "ptp4l follows no master: it has its own time"
                           : "ptp4l follows no master now";
    for (const PtpPort& each : ptp.ports) text += "; " + portText(each);
    return text + fmt::format("; domain {}\n", ptp.domain);
  }
  std::string text = fmt::format(
      "ptp4l follows {} by {}, domain {}\n"
      "the grandmaster    is {}, {} away{}\n",
      ptp.parent, portText(*port), ptp.domain, ptp.grandmaster,
      ptp.steps_removed == 1 ? "1 step" : fmt::format("{} steps", ptp.steps_removed),
      timescaleText(ptp));
  if (!ptp.hasMeasured()) return text + "the offset         is not measured yet\n";
  const auto duration = [&](int64_t ns) { return formatDuration(ns, micro); };
  const std::string clock = stampedClockText(*port);
  text += fmt::format("{:18} was {} {} its master's when it was compared last{}\n", clock,
                      duration(std::abs(ptp.offset_from_master)),
                      ptp.offset_from_master < 0 ? "behind" : "ahead of",
                      port->stamps == PtpPort::Stamps::kNotTold
                          ? std::string()
                          : fmt::format(", by {} stamps", stampsText(port->stamps)));
  text += fmt::format(
      "that is off by     at most {}, the mean path delay, if the exchange took no longer than "
      "the mean one;\n"
      "                   it is no bound, so traces do not have it: how uneven the path is, "
      "ptp4l does not know\n",
      duration(ptp.mean_path_delay));
  if (ptp.steps_removed > 1) {
    text +=
        "                   how far its master is off the grandmaster, is not known at this host\n";
  }
  return text;
}

void writePtp(JsonWriter& json, const PtpStatus& ptp) {
  json.beginObject().field("domain", ptp.domain).field("clock", ptp.clock);
  const PtpPort* const port = ptp.followingPort();
  json.field("is_following", port != nullptr).field("parent", ptp.parent);
  json.field("grandmaster", ptp.grandmaster).field("steps_removed", ptp.steps_removed);
  const bool is_measured = port != nullptr && ptp.hasMeasured();
  json.key("offset_from_master_ns");
  is_measured ? json.value(ptp.offset_from_master) : json.null();
  json.key("mean_path_delay_ns");
  is_measured ? json.value(ptp.mean_path_delay) : json.null();
  json.key("is_on_ptp_timescale");
  ptp.is_on_ptp_scale ? json.value(*ptp.is_on_ptp_scale) : json.null();
  json.key("utc_offset_s");
  ptp.utc_offset ? json.value(*ptp.utc_offset) : json.null();
  json.key("ports").beginArray();
  for (const PtpPort& each : ptp.ports) {
    json.beginObject().field("number", each.number).field("state", ptpPortStateName(each.state));
    json.field("interface", each.interface).field("stamps", stampsText(each.stamps)).endObject();
  }
  json.endArray().endObject();
}

}  // namespace

std::string clockStatusText(const ClockStatus& status, const char* micro) {
  return (status.utc ? utcText(*status.utc, micro) : std::string()) +
         (status.ptp ? ptpText(*status.ptp, micro) : std::string());
}

void writeClockStatus(JsonWriter& json, const ClockStatus& status) {
  json.beginObject();
  if (status.utc) {
    const DaemonTime& time = *status.utc;
    json.field("daemon", time.daemon).field("stratum", time.stratum);
    json.field("source", time.source).field("behind_utc_ns", time.behind_utc);
    json.field("error_ns", time.error).field("root_delay_ns", time.root_delay);
    json.field("dispersion_ns", time.dispersion).field("at_ns", time.utc.at);
    json.field("offset_ns", time.utc.middle()).field("offset_error_ns", time.utc.halfWidth());
  }
  if (status.ptp) {
    json.key("ptp");
    writePtp(json, *status.ptp);
  }
  json.endObject();
}

}  // namespace tracesmith::cli
