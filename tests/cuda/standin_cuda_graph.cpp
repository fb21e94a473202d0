// SPDX-License-Identifier: Apache-2.0
// The graphs of the stand-in for libcuda.
#include "standin_cuda.hpp"

using namespace standin;

namespace {

CUresult instantiate(Call& call, CUgraphExec* exec, CUgraph graph) {
  CHECK_STATE();
  auto* clone = new CUgraph_st{0, graph, {}};
  {
    const std::lock_guard lock(driver().mutex);
    clone->id = ++driver().graphs;
    for (CUgraphNode node : graph->nodes) {
      clone->nodes.push_back(new CUgraphNode_st{++driver().nodes, node, node->launch});
    }
    *exec = new CUgraphExec_st{++driver().graphs, clone};
  }
  call.resource(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING, {.graph = graph});
  call.resource(CUPTI_CBID_RESOURCE_GRAPH_CLONED, {.graph = clone});
  for (CUgraphNode node : clone->nodes) {
    call.resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, {.graph = clone, .node = node});
  }
  call.resource(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, {.graph = graph, .exec = *exec});
  return call.end(CUDA_SUCCESS);
}

}  // namespace

extern "C" {

CUresult CUDAAPI cuGraphCreate(CUgraph* graph, unsigned flags) {
  CALL(cuGraphCreate, graph, flags);
  CHECK_STATE();
  {
    const std::lock_guard lock(driver().mutex);
    *graph = new CUgraph_st{++driver().graphs, nullptr, {}};
  }
  call.resource(CUPTI_CBID_RESOURCE_GRAPH_CREATED, {.graph = *graph});
  return call.end(CUDA_SUCCESS);
}

// Dependencies are not kept: one node after the other is an order that any of them allow.
CUresult CUDAAPI cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph,
                                      const CUgraphNode* dependencies, size_t count,
                                      const CUDA_KERNEL_NODE_PARAMS* how) {
#if CUDA_VERSION >= 12000
  CALL(cuGraphAddKernelNode_v2, node, graph, dependencies, count, how);
#else
  CALL(cuGraphAddKernelNode, node, graph, dependencies, count, how);
#endif
  CHECK_STATE();
  {
    const std::lock_guard lock(driver().mutex);
    *node = new CUgraphNode_st{++driver().nodes,
                               nullptr,
                               {.name = how->func->name,
                                .grid = {how->gridDimX, how->gridDimY, how->gridDimZ},
                                .block = {how->blockDimX, how->blockDimY, how->blockDimZ},
                                .shared_bytes = how->sharedMemBytes}};
    graph->nodes.push_back(*node);
  }
  call.resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, {.graph = graph, .node = *node});
  return call.end(CUDA_SUCCESS);
}

#if CUDA_VERSION >= 12000
CUresult CUDAAPI cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  CALL(cuGraphInstantiateWithFlags, exec, graph, flags);
  return instantiate(call, exec, graph);
}
#else
CUresult CUDAAPI cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node,
                                    char* log, size_t log_bytes) {
  CALL(cuGraphInstantiate_v2, exec, graph, error_node, log, log_bytes);
  return instantiate(call, exec, graph);
}
#endif

// Tells of the whole and of each node; what is enabled decides which of them is recorded.
CUresult CUDAAPI cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  CALL(cuGraphLaunch, exec, stream);
  CHECK_STATE();
  StandinWork whole = place(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, stream, 0);
  whole.exec = exec;
  for (CUgraphNode node : exec->graph->nodes) {
    StandinWork work = place(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, stream, kernelNs(node->launch));
    work.launch = node->launch;
    work.exec = exec;
    work.node = node;
    call.work(work);
    if (node == exec->graph->nodes.front()) whole.start_ns = work.start_ns;
    whole.end_ns = work.end_ns;
  }
  call.work(whole);
  return call.end(CUDA_SUCCESS);
}

}  // extern "C"
