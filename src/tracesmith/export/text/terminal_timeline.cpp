// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/export/text/terminal_timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tracesmith/base/human_units.hpp"
#include "tracesmith/export/output/json_writer.hpp"
#include "tracesmith/model/names/device_names.hpp"

namespace tracesmith {
namespace {

constexpr int kDefaultWidth = 100;
constexpr int kNarrow = 60;  // below this width: short labels
constexpr int kWideLabel = 24;
constexpr int kNarrowLabel = 10;
constexpr int kShareWidth = 8;  // "│ 100.0 %" without its first column
constexpr const char* kKernelColour = "32";
constexpr const char* kMemoryColour = "36";
constexpr const char* kTogetherColour = "33";

int labelWidth(int width) { return width < kNarrow ? kNarrowLabel : kWideLabel; }
bool showsShares(int width) { return width >= 40; }

std::string blocks(const std::vector<double>& shares, const TerminalStyle& style, char fill) {
  std::string out;
  for (double share : shares) {
    out += fill == 0 ? timelineBlock(share, style) : std::string(1, share >= 0.5 ? fill : ' ');
  }
  return out;
}

std::string digits(const std::vector<uint32_t>& counts, const TerminalStyle& style) {
  std::string out;
  for (uint32_t n : counts) {
    if (n == 0) {
      out += style.utf8 ? "·" : ".";
    } else {
      out += n > 9 ? '+' : static_cast<char>('0' + n);
    }
  }
  return out;
}

/// The smallest number of at least `ns` that is 1, 2 or 5 times a power of ten.
double niceStep(double ns) {
  const double power = std::pow(10, std::floor(std::log10(std::max(ns, 1.0))));
  for (double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (factor * power >= ns * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::string tickText(double ns, double step, const TerminalStyle& style) {
  struct Unit {
    double ns;
    const char* name;
  };
  const Unit units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, style.micro()}, {1, "ns"}};
  for (const Unit& unit : units) {
    // The largest unit in which steps have at most one decimal.
    if (step < unit.ns / 10 * (1 - 1e-9) && unit.ns > 1) continue;
    const double value = ns / unit.ns;
    const bool whole = std::fmod(step / unit.ns + 1e-9, 1.0) < 1e-6;
    return fmt::format("{:.{}f} {}", value, whole ? 0 : 1, unit.name);
  }
  return {};
}

class Drawing {
 public:
  Drawing(const TimelinePicture& picture, const TimelineNames& names, const TerminalStyle& style,
          const TimelineStyle& look)
      : p_(picture),
        names_(names),
        style_(style),
        look_(look),
        width_(style.width > 0 ? style.width : kDefaultWidth) {}

  std::string draw() {
    if (look_.durations) head();
    if (look_.axis) axis();
    for (const DevicePicture& device : p_.devices) {
      out_ += style_.bold(cutToWidth(printable(names_.device(device.device)), width_, style_));
      out_ += '\n';
      for (const StreamPicture& s : device.streams) stream(s);
      together(device);
    }
    if (p_.streams_left_out > 0) {
      out_ += style_.dim(fmt::format("{} less busy streams are not shown; choose with --stream",
                                     formatCount(p_.streams_left_out))) +
              '\n';
    }
    if (look_.fill == 0) legend();
    return std::move(out_);
  }

 private:
  void head() {
    const int64_t length = lengthOf(p_.begin_ns, p_.end_ns);
    const int64_t cell = length / static_cast<int64_t>(p_.cells);
    const std::string line =
        fmt::format("{} with {} {}; one column is {}", formatDuration(length, style_.micro()),
                    formatCount(p_.operations), p_.operations == 1 ? "operation" : "operations",
                    formatDuration(cell, style_.micro()));
    out_ += cutToWidth(line, width_, style_) + '\n';
  }

  void row(std::string_view label, const std::string& cells, const char* colour, double share) {
    const int width = labelWidth(width_);
    const std::string text = cutToWidth(label, width, style_);
    out_ += text + std::string(static_cast<size_t>(width - displayWidth(text)), ' ');
    out_ += style_.utf8 ? "│" : "|";
    out_ += style_.paint(colour, cells);
    out_ += style_.utf8 ? "│" : "|";
    if (look_.durations && showsShares(width_) && share >= 0)
      out_ += fmt::format("{:>{}}", formatPercent(share), kShareWidth);
    out_ += '\n';
  }

  void axis() {
    const std::string labels =
        timelineAxis(p_.begin_ns, p_.end_ns, names_.zero_ns, p_.cells, style_);
    if (labels.empty()) return;
    out_ +=
        std::string(static_cast<size_t>(labelWidth(width_)) + 1, ' ') + style_.dim(labels) + '\n';
  }

  void stream(const StreamPicture& s) {
    const bool both = !s.kernels.empty() && !s.memory.empty();
    const bool narrow = width_ < kNarrow;
    std::string name = printable(names_.stream(s.stream));
    constexpr std::string_view kWord = "stream ";
    if (narrow && name.starts_with(kWord)) name.erase(0, kWord.size());
    // The suffix distinguishes streams with equal names, so shorten the name instead.
    const size_t bracket = name.ends_with(')') ? name.rfind(" (") : std::string::npos;
    if (bracket != std::string::npos && bracket > 0) {
      const std::string apart = name.substr(bracket);
      const int left = labelWidth(width_) - 2 - displayWidth(apart);
      if (left >= 2) name = cutToWidth(name.substr(0, bracket), left, style_) + apart;
    }
    if (!s.kernels.empty()) {
      row("  " + name, blocks(s.kernels, style_, look_.fill), kKernelColour, s.busy);
    }
    if (!s.memory.empty()) {
      const std::string label = both ? (narrow ? "   mem" : "    copies") : "  " + name;
      row(label, blocks(s.memory, style_, look_.fill), kMemoryColour, both ? -1 : s.busy);
    }
  }

  void together(const DevicePicture& device) {
    const bool narrow = width_ < kNarrow;
    row(narrow ? "  at once" : "  operations at once", digits(device.concurrency, style_),
        kTogetherColour, -1);
    row("  busy", blocks(device.busy_by_cell, style_, look_.fill), kTogetherColour, device.busy);
  }

  void legend() {
    const std::string text = style_.utf8 ? "height: share of the column in which the row was busy "
                                           "(▁ little … █ all); right: of the whole"
                                         : "share of the column in which the row was busy: little "
                                           ". : - = + * % # all; right: of the whole";
    out_ += style_.dim(cutToWidth(text, width_, style_)) + '\n';
  }

  const TimelinePicture& p_;
  const TimelineNames& names_;
  const TerminalStyle& style_;
  const TimelineStyle& look_;
  int width_;
  std::string out_;
};

}  // namespace

std::string timelineBlock(double share, const TerminalStyle& style) {
  static constexpr const char* kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr char kLetters[] = ".:-=+*%#";
  if (share <= 0) return " ";
  const int level = std::clamp(static_cast<int>(std::floor(share * 8 + 1e-9)), 0, 7);
  // 7/8 or more, but less than 1, is drawn below the full block.
  const int shown = share >= 1 - 1e-9 ? 7 : std::min(level, 6);
  return style.utf8 ? kBlocks[shown] : std::string(1, kLetters[shown]);
}

std::string timelineAxis(int64_t begin_ns, int64_t end_ns, int64_t zero_ns, size_t cells,
                         const TerminalStyle& style) {
  const auto begin = static_cast<double>(lengthOf(zero_ns, begin_ns));
  const auto length = static_cast<double>(lengthOf(begin_ns, end_ns));
  const double cell_ns = length / static_cast<double>(cells);
  const double step = niceStep(cell_ns * 9);
  size_t free = 0;
  std::string labels;
  const double first = std::ceil(begin / step - 1e-9) + 0.0;  // + 0.0: ceil() may give -0
  // Counts steps, because adding a small step to a very large double changes nothing.
  for (size_t i = 0; i < cells; ++i) {
    const double t = (first + static_cast<double>(i)) * step;
    if (!(t < begin + length)) break;
    const auto at = static_cast<size_t>(std::max(0.0, (t - begin) / cell_ns + 1e-6));
    const std::string text = tickText(t, step, style);
    const auto text_width = static_cast<size_t>(displayWidth(text)) + 1;
    if (at < free || at + text_width > cells) continue;
    labels += std::string(at - free, ' ') + (style.utf8 ? "╵" : "|") + text;
    free = at + text_width;
  }
  return labels;
}

TimelineNames namesOf(const Trace& trace) {
  TimelineNames names;
  names.zero_ns = timeRange(trace).begin_ns;
  names.device = [&trace](DeviceId id) { return deviceName(trace, id); };
  names.stream = [&trace, all = distinctStreamNames(trace, true)](StreamId id) {
    return id != StreamId::kNone && indexOf(id) < all.size() ? all[indexOf(id)]
                                                             : streamName(trace, id);
  };
  names.stream_number = [&trace](StreamId id) {
    return id != StreamId::kNone && indexOf(id) < trace.stream.size()
               ? std::optional<uint32_t>(trace.stream.ordinal[indexOf(id)])
               : std::nullopt;
  };
  return names;
}

size_t timelineCells(int width) {
  if (width <= 0) width = kDefaultWidth;
  const int around = labelWidth(width) + 2 + (showsShares(width) ? kShareWidth : 0);
  return static_cast<size_t>(std::max(width - around, 8));
}

std::string timelineText(const TimelinePicture& picture, const TimelineNames& names,
                         const TerminalStyle& style, const TimelineStyle& look) {
  if (picture.devices.empty()) return "no device work in this time range\n";
  return Drawing(picture, names, style, look).draw();
}

void writeTimelineJson(const TimelinePicture& picture, const TimelineNames& names, Output& out) {
  JsonWriter json(out, 0);
  auto array = [&](std::string_view key, const auto& values) {
    json.key(key).beginArray();
    for (const auto& v : values) json.value(v);
    json.endArray();
  };
  json.beginObject()
      .field("begin_ns", picture.begin_ns)
      .field("end_ns", picture.end_ns)
      .field("cells", picture.cells)
      .field("operations", picture.operations)
      .field("streams_left_out", picture.streams_left_out);
  json.key("devices").beginArray();
  for (const DevicePicture& device : picture.devices) {
    json.beginObject()
        .field("device_id", static_cast<uint64_t>(device.device))
        .field("name", names.device(device.device))
        .field("busy", device.busy)
        .field("most_concurrent", device.most_concurrent);
    json.key("streams").beginArray();
    for (const StreamPicture& s : device.streams) {
      json.beginObject().field("stream_id", static_cast<uint64_t>(s.stream));
      const std::optional<uint32_t> number =
          names.stream_number ? names.stream_number(s.stream) : std::nullopt;
      json.key("stream");
      if (number) {
        json.value(*number);
      } else {
        json.null();
      }
      json.field("name", names.stream(s.stream)).field("busy", s.busy);
      array("kernels", s.kernels);
      array("memory", s.memory);
      json.endObject();
    }
    json.endArray();
    array("concurrency", device.concurrency);
    array("busy_by_cell", device.busy_by_cell);
    json.endObject();
  }
  json.endArray().endObject();
  out.put('\n');
}

}  // namespace tracesmith
