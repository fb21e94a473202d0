// SPDX-License-Identifier: Apache-2.0
// The device work of an emulator's graph: operations, their streams, copy engines and collectives.
#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>

#include "tracesmith/emulate/emulator_graph_parts.hpp"
#include "tracesmith/model/names/collective_names.hpp"

namespace tracesmith::emulator_parts {
namespace {

/// Finding the partners of a collective visits each rank.
constexpr size_t kMostRanks = 1024;

/// The largest number of these intervals [begin, end) open at once.
uint32_t mostAtOnce(std::vector<std::pair<int64_t, int64_t>> spans) {
  std::sort(spans.begin(), spans.end());
  std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> open;
  size_t most = 1;
  for (const auto& [begin, end] : spans) {
    while (!open.empty() && open.top() <= begin) open.pop();
    open.push(end);
    most = std::max(most, open.size());
  }
  return static_cast<uint32_t>(most);
}

void addEngines(GraphMaker& maker) {
  EmulatorGraph& graph = maker.graph;
  std::map<std::pair<uint32_t, CopyKind>, std::vector<uint32_t>> copies;
  for (uint32_t i = 0; i < graph.ops.size(); ++i) {
    const EmulatedOp& op = graph.ops[i];
    if (op.table != TableId::kCopy) continue;
    copies[{op.device, maker.trace.copy.kind[op.row]}].push_back(i);
  }
  for (const auto& [place, ops] : copies) {
    std::vector<std::pair<int64_t, int64_t>> spans;
    for (const uint32_t i : ops) {
      spans.emplace_back(graph.ops[i].begin_ns, graph.ops[i].end_ns);
      graph.ops[i].engine = static_cast<uint32_t>(graph.engines.size());
    }
    graph.engines.push_back(mostAtOnce(std::move(spans)));
  }
}

/// A stream without work is identified with the stream with work that has the same process and
/// handle, if there is exactly one.
void nameStreams(GraphMaker& maker) {
  const StreamTable& streams = maker.trace.stream;
  std::map<std::pair<ProcessId, uint64_t>, uint32_t> by_handle;
  for (uint32_t s = 0; s < maker.stream_ids.size(); ++s) {
    const StreamId id = maker.stream_ids[s];
    maker.stream_of[id] = s;
    if (id == StreamId::kNone || indexOf(id) >= streams.size()) continue;
    const auto [it, fresh] =
        by_handle.try_emplace({streams.process_id[indexOf(id)], streams.handle[indexOf(id)]}, s);
    if (!fresh) it->second = kNone;
  }
  for (size_t i = 0; i < streams.size(); ++i) {
    const auto it = by_handle.find({streams.process_id[i], streams.handle[i]});
    if (it != by_handle.end() && it->second != kNone) {
      maker.stream_of.try_emplace(idAt<StreamId>(i), it->second);
    }
  }
}

void findNeighbours(GraphMaker& maker) {
  EmulatorGraph& graph = maker.graph;
  struct Last {
    uint32_t any = kNone;
    uint32_t ended = kNone;
  };
  std::vector<Last> last(graph.streams);
  maker.before.assign(graph.ops.size(), kNone);
  maker.ended_last.assign(graph.ops.size(), kNone);
  for (uint32_t i = 0; i < graph.ops.size(); ++i) {
    const EmulatedOp& op = graph.ops[i];
    if (!maker.ordered[op.stream]) continue;
    Last& stream = last[op.stream];
    maker.before[i] = stream.any;
    maker.ended_last[i] = stream.ended;
    stream.any = i;
    if (stream.ended == kNone || graph.ops[stream.ended].end_ns <= op.end_ns) stream.ended = i;
  }
}

}  // namespace

void addOperations(GraphMaker& maker) {
  EmulatorGraph& graph = maker.graph;
  const DeviceOps& from = maker.device_ops;
  std::map<std::pair<ProcessId, DeviceId>, uint32_t> processes_of;
  std::map<DeviceId, uint32_t> devices;
  graph.ops.reserve(from.ops.size());
  for (const StreamOps& stream : from.streams) {
    for (uint32_t i = stream.begin; i < stream.end; ++i) {
      const DeviceOp& op = from.ops[i];
      EmulatedOp out;
      out.begin_ns = op.begin_ns;
      out.end_ns = std::max(op.end_ns, op.begin_ns);
      out.work_ns = static_cast<double>(out.end_ns - out.begin_ns);
      out.earliest_ns = INT64_MIN;
      out.device =
          devices.try_emplace(stream.device, static_cast<uint32_t>(devices.size())).first->second;
      out.stream = static_cast<uint32_t>(maker.stream_ids.size());
      out.launch = op.launch;
      out.row = op.row;
      out.name = op.name;
      out.table = op.table;
      out.work = op.work;
      graph.ops.push_back(out);
      graph.facts.device_ns += out.end_ns - out.begin_ns;
    }
    maker.stream_ids.push_back(stream.stream);
    maker.ordered.push_back(stream.stream != StreamId::kNone);
  }
  graph.devices = static_cast<uint32_t>(devices.size());
  graph.streams = static_cast<uint32_t>(maker.stream_ids.size());
  std::stable_sort(graph.ops.begin(), graph.ops.end(),
                   [](const EmulatedOp& a, const EmulatedOp& b) {
                     return std::tie(a.begin_ns, a.end_ns) < std::tie(b.begin_ns, b.end_ns);
                   });
  const auto processOf = [&](const EmulatedOp& op) {
    switch (op.table) {
      case TableId::kCopy:
        return maker.trace.copy.process_id[op.row];
      case TableId::kFill:
        return maker.trace.fill.process_id[op.row];
      default:
        return maker.trace.kernel.process_id[op.row];
    }
  };
  maker.launched_ns.assign(graph.ops.size(), INT64_MIN);
  maker.processes.resize(graph.ops.size());
  maker.has_event.assign(graph.ops.size(), false);
  for (uint32_t i = 0; i < graph.ops.size(); ++i) {
    const EmulatedOp& op = graph.ops[i];
    maker.processes[i] = processOf(op);
    if (op.launch == kNone) continue;
    maker.launched_ns[i] = maker.callBegin(op.launch);
    maker.launches[maker.processes[i]].push_back({maker.launched_ns[i], i});
  }
  for (auto& [process, launches] : maker.launches) {
    std::stable_sort(launches.begin(), launches.end(),
                     [](const GraphMaker::Launch& a, const GraphMaker::Launch& b) {
                       return a.time_ns < b.time_ns;
                     });
  }
  nameStreams(maker);
  findNeighbours(maker);
  addEngines(maker);
}

void addCollectives(GraphMaker& maker) {
  EmulatorGraph& graph = maker.graph;
  // By name, then by rank: a process and device.
  using Rank = std::pair<ProcessId, uint32_t>;
  std::map<StringId, std::map<Rank, std::vector<uint32_t>>> all;
  for (uint32_t i = 0; i < graph.ops.size(); ++i) {
    const EmulatedOp& op = graph.ops[i];
    if (op.work != WorkClass::kCommunication || op.table != TableId::kKernel) continue;
    all[op.name][{maker.processes[i], op.device}].push_back(i);
  }
  for (const auto& [name, ranks] : all) {
    if (ranks.size() < 2 || ranks.size() > kMostRanks) {
      for (const auto& [rank, ops] : ranks) graph.facts.unmatched_collectives += ops.size();
      continue;
    }
    // Kernels of all ranks that ran at the same time form one collective; those without a partner
    // are skipped.
    std::vector<const std::vector<uint32_t>*> lists;
    for (const auto& [rank, ops] : ranks) lists.push_back(&ops);
    std::vector<size_t> at(lists.size(), 0);
    const auto head = [&](size_t r) -> const EmulatedOp& { return graph.ops[(*lists[r])[at[r]]]; };
    while (true) {
      int64_t last_begin = INT64_MIN;
      size_t first_end = 0;
      bool over = false;
      for (size_t r = 0; r < lists.size() && !over; ++r) {
        over = at[r] == lists[r]->size();
        if (over) break;
        last_begin = std::max(last_begin, head(r).begin_ns);
        if (head(r).end_ns < head(first_end).end_ns) first_end = r;
      }
      if (over) break;
      if (head(first_end).end_ns <= last_begin) {
        ++at[first_end];
        ++graph.facts.unmatched_collectives;
        continue;
      }
      std::vector<uint32_t> members;
      for (size_t r = 0; r < lists.size(); ++r) members.push_back((*lists[r])[at[r]++]);
      for (const uint32_t i : members) {
        graph.ops[i].group = static_cast<uint32_t>(graph.groups.size());
        graph.ops[i].work_ns = static_cast<double>(graph.ops[i].end_ns - last_begin);
      }
      graph.groups.push_back(std::move(members));
    }
    for (size_t r = 0; r < lists.size(); ++r) {
      graph.facts.unmatched_collectives += lists[r]->size() - at[r];
    }
  }
}

}  // namespace tracesmith::emulator_parts
