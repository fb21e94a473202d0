// SPDX-License-Identifier: Apache-2.0
// The graphs of the stand-in for libcuda.
#include "standin_cuda.hpp"

namespace standin {

CUgraphNode addNode(const Call& call, CUgraph graph, const CUgraphNode_st& node) {
  auto* added = new CUgraphNode_st(node);
  {
    const std::lock_guard lock(driver().mutex);
    added->id = ++driver().nodes;
    graph->nodes.push_back(added);
  }
  call.resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
                {.context = current_context, .graph = graph, .node = added});
  return added;
}

}  // namespace standin

using namespace standin;

namespace {

CUgraph createGraph(const Call& call) {
  CUgraph graph = nullptr;
  {
    const std::lock_guard lock(driver().mutex);
    graph = new CUgraph_st{++driver().graphs, nullptr, {}};
  }
  call.resource(CUPTI_CBID_RESOURCE_GRAPH_CREATED, {.context = current_context, .graph = graph});
  return graph;
}

CUresult instantiate(Call& call, CUgraphExec* exec, CUgraph graph) {
  CHECK_STATE();
  auto* clone = new CUgraph_st{0, graph, {}};
  {
    const std::lock_guard lock(driver().mutex);
    clone->id = ++driver().graphs;
    for (CUgraphNode node : graph->nodes) {
      clone->nodes.push_back(new CUgraphNode_st(*node));
      clone->nodes.back()->id = ++driver().nodes;
      clone->nodes.back()->original = node;
    }
    *exec = new CUgraphExec_st{++driver().graphs, clone};
  }
  call.resource(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING,
                {.context = current_context, .graph = graph});
  call.resource(CUPTI_CBID_RESOURCE_GRAPH_CLONED, {.context = current_context, .graph = clone});
  for (CUgraphNode node : clone->nodes) {
    call.resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
                  {.context = current_context, .graph = clone, .node = node});
  }
  call.resource(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED,
                {.context = current_context, .graph = graph, .exec = *exec});
  return call.end(CUDA_SUCCESS);
}

}  // namespace

extern "C" {

CUresult CUDAAPI cuGraphCreate(CUgraph* graph, unsigned flags) {
  CALL(cuGraphCreate, graph, flags);
  CHECK_STATE();
  *graph = createGraph(call);
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
  *node = addNode(call, graph,
                  kernelNode({.name = how->func->name,
                              .grid = {how->gridDimX, how->gridDimY, how->gridDimZ},
                              .block = {how->blockDimX, how->blockDimY, how->blockDimZ},
                              .shared_bytes = how->sharedMemBytes}));
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
  bringUnifiedMemory(call, streamOf(stream));
  StandinWork whole = place(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, stream, 0);
  whole.exec = exec;
  for (CUgraphNode node : exec->graph->nodes) {
    StandinWork work = node->work;
    const StandinWork placed = place(work.kind, stream, node->duration_ns);
    work.stream = placed.stream;
    work.start_ns = placed.start_ns;
    work.end_ns = placed.end_ns;
    work.exec = exec;
    work.node = node;
    perform(*node);
    call.work(work);
    if (node == exec->graph->nodes.front()) whole.start_ns = work.start_ns;
    whole.end_ns = work.end_ns;
  }
  call.work(whole);
  return call.end(CUDA_SUCCESS);
}

// What is put on the stream, and on those that wait for its events, becomes nodes.
CUresult CUDAAPI cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  CALL(cuStreamBeginCapture_v2, stream, mode);
  CHECK_STATE();
  if (stream == nullptr) return call.end(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  if (stream->capture != nullptr) return call.end(CUDA_ERROR_ILLEGAL_STATE);
  stream->capture = createGraph(call);
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  CALL(cuStreamEndCapture, stream, graph);
  CHECK_STATE();
  if (stream->capture == nullptr) return call.end(CUDA_ERROR_ILLEGAL_STATE);
  *graph = stream->capture;
  const std::lock_guard lock(driver().mutex);
  for (CUstream other : stream->context->streams) {
    if (other->capture == *graph) other->capture = nullptr;
  }
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  CALL(cuStreamIsCapturing, stream, status);
  CHECK_STATE();
  *status = streamOf(stream)->capture != nullptr ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                                 : CU_STREAM_CAPTURE_STATUS_NONE;
  return call.end(CUDA_SUCCESS);
}

// Objects stay, for launches may still be under way.
CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec exec) {
  CALL(cuGraphExecDestroy, exec);
  CHECK_STATE();
  call.resource(CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING,
                {.context = current_context, .graph = exec->graph, .exec = exec});
  return call.end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphDestroy(CUgraph graph) {
  CALL(cuGraphDestroy, graph);
  CHECK_STATE();
  call.resource(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING,
                {.context = current_context, .graph = graph});
  return call.end(CUDA_SUCCESS);
}

}  // extern "C"
