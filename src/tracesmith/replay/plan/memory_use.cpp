// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/replay/plan/memory_use.hpp"

#include <algorithm>
#include <unordered_set>

#include "tracesmith/replay/plan/step_order.hpp"

namespace tracesmith {

using namespace recording;

std::vector<MemoryUse> memoryUse(const ReplayPlan& plan, const ReplayStep& step) {
  std::vector<MemoryUse> uses;
  const auto use = [&](ObjectIndex memory, bool reads, bool writes) {
    if (memory == 0 || plan.object(memory).object_class != ObjectClass::kMemory) return;
    const auto known = std::find_if(uses.begin(), uses.end(),
                                    [&](const MemoryUse& u) { return u.memory == memory; });
    if (known == uses.end()) {
      uses.push_back({memory, reads, writes});
    } else {
      known->reads |= reads;
      known->writes |= writes;
    }
  };
  switch (step.kind()) {
    case CommandKind::kLaunch:
      for (const StepIndex argument : plan.listOf(step)) {
        if (argument != kNoStep) use(plan.step(argument).other, true, true);
      }
      break;
    case CommandKind::kWrite:
    case CommandKind::kFill:
    case CommandKind::kSvmFill:
    case CommandKind::kSnapshot:
      use(step.object, false, true);
      break;
    case CommandKind::kRead:
      use(step.object, true, false);
      break;
    case CommandKind::kMap: {
      Map c;
      constexpr uint64_t kInvalidate = 4;  // CL_MAP_WRITE_INVALIDATE_REGION
      use(step.object, !decode(step.fields, c) || (c.flags & kInvalidate) == 0, false);
      break;
    }
    case CommandKind::kUnmap: {
      Unmap c;
      use(step.object, false, !decode(step.fields, c) || c.content.bytes != 0);
      break;
    }
    case CommandKind::kCopy:
    case CommandKind::kSvmCopy:
      use(step.other, true, false);
      use(step.object, false, true);
      break;
    case CommandKind::kSvmMap:
    case CommandKind::kSvmUnmap:
      use(step.object, true, true);
      break;
    default:
      break;
  }
  return uses;
}

ObjectIndex rootOf(const ReplayPlan& plan, ObjectIndex memory) {
  while (memory != 0 && plan.object(memory).parent != 0) memory = plan.object(memory).parent;
  return memory;
}

namespace {
bool unmaps(const ReplayStep& step) {
  return (step.kind() == CommandKind::kUnmap || step.kind() == CommandKind::kSvmUnmap) &&
         step.of != kNoStep;
}
}  // namespace

std::vector<bool> stepsNeeded(const ReplayPlan& plan, const std::vector<bool>& wanted) {
  std::vector<bool> needed(plan.steps().size(), true);
  std::unordered_set<ObjectIndex> memory;
  std::vector<bool> mapped(plan.steps().size(), false);  // maps whose unmap is needed
  for (size_t i = plan.steps().size(); i-- > 0;) {
    const ReplayStep& step = plan.step(static_cast<StepIndex>(i));
    if (!isCommand(step)) continue;
    const std::vector<MemoryUse> uses = memoryUse(plan, step);
    bool is_needed = wanted[i] || mapped[i] || uses.empty();
    for (const MemoryUse& u : uses) {
      is_needed = is_needed || (u.writes && memory.contains(rootOf(plan, u.memory)));
    }
    needed[i] = is_needed;
    if (!is_needed) continue;
    for (const MemoryUse& u : uses) memory.insert(rootOf(plan, u.memory));
    if (unmaps(step)) mapped[step.of] = true;
  }
  // A needed map needs its unmap.
  for (size_t i = 0; i < plan.steps().size(); ++i) {
    const ReplayStep& step = plan.step(static_cast<StepIndex>(i));
    if (unmaps(step)) needed[i] = needed[step.of];
  }
  return needed;
}

}  // namespace tracesmith
