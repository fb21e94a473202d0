// SPDX-License-Identifier: Apache-2.0
// Where the fields lie that a reader of CUPTI's records relies on, checked by the compiler against
// each version's own headers. Later versions only append: a record of any version from CUDA 11.8 to
// 13.5 can be read through its oldest form, and what follows is there from the version named.
//
//   kernel      registersPerThread 6   start 16   end 24   completed 32   deviceId 40   contextId
//   44
//     streamId 48   gridX 52   blockX 64   staticSharedMemory 76   dynamicSharedMemory 80
//     localMemoryPerThread 84   localMemoryTotal 88   correlationId 92   gridId 96   name 104
//     queued 120   submitted 128   launchType 136   sharedMemoryExecuted 140   graphNodeId 144
//     graphId 156   channelID 168   channelType 172   clusterX 176   clusterSchedulingPolicy 188
//     localMemoryTotal_v2 192                        200 bytes, CUDA 11.8 (Kernel8)
//     maxPotentialClusterSize 200                    208 bytes, CUDA 12.4 (Kernel9)
//     isDeviceLaunched 208                           216 bytes (Kernel10)
//     priority 216                                   224 bytes (Kernel11)
//     executionModel 224                             232 bytes (Kernel12)
//     sourceGraphId 232   sourceGraphNodeId 240      248 bytes, CUDA 13.5 (Kernel13)
//     Kernel4 ends before graphNodeId, Kernel6 before channelID, Kernel7 before clusterX.
//   copy        copyKind 4   srcKind 5   dstKind 6   flags 7   bytes 8   start 16   end 24
//     deviceId 32   contextId 36   streamId 40   correlationId 44   runtimeCorrelationId 48
//     graphNodeId 64   graphId 72   channelID 76     88 bytes, CUDA 11.8 and 12.4 (Memcpy5)
//     isDeviceLaunched 84   copyCount 88             96 bytes (Memcpy6)
//     sourceGraphId 96   sourceGraphNodeId 104       112 bytes, CUDA 13.5 (Memcpy7)
//   peer copy   the copy's up to streamId 40, then srcDeviceId 44   srcContextId 48   dstDeviceId
//   52
//     dstContextId 56   correlationId 60             96 bytes in all three (MemcpyPtoP4)
//   fill        value 4   bytes 8   start 16   end 24   deviceId 32   contextId 36   streamId 40
//     correlationId 44   flags 48   memoryKind 50   graphNodeId 64   graphId 72
//                                                    88 bytes, CUDA 11.8 and 12.4 (Memset4)
//     isDeviceLaunched 84   sourceGraphId 88         104 bytes, CUDA 13.5 (Memset5)
//   sync        type 4   start 8   end 16   correlationId 24   contextId 28   streamId 32
//     cudaEventId 36                                 40 bytes, CUDA 11.8 and 12.4
//     cudaEventSyncId 40   returnValue 48            56 bytes, CUDA 13.5 (Synchronization2)
//   event       correlationId 4   contextId 8   streamId 12   eventId 16     24 bytes
//     deviceId 24   deviceTimestamp 40   cudaEventSyncId 48                  56 bytes (CudaEvent2)
//     graphNodeId 56   graphId 64                    80 bytes, CUDA 13.5 (CudaEvent3)
//   overhead    overheadKind 4   objectKind 8   objectId 12   start 24   end 32
//                                                    40 bytes, CUDA 11.8
//     correlationId 40   overheadData 48             56 bytes, CUDA 12.4 and 13.5 (Overhead3)
//   context     contextId 4   deviceId 8   computeApiKind 12   nullStreamId 14
//                                                    16 bytes, CUDA 11.8
//     parentContextId 16   isGreenContext 20         24 bytes, CUDA 12.4 (Context2)
//     numMultiprocessors 22, as padding before   cigMode 24                  32 bytes (Context3)
//     processId 32                                   40 bytes, CUDA 13.5 (Context4)
//   device      globalMemoryBandwidth 8   globalMemorySize 16   l2CacheSize 28   coreClockRate 36
//     numMultiprocessors 44   computeCapabilityMajor 104, Minor 108   id 112   uuid 120   name 136
//     isMigEnabled 145   migUuid 160                 176 bytes, CUDA 11.8 (Device4)
//     isNumaNode 176   numaId 180                    184 bytes, CUDA 12.4 (Device5)
//     numTpcs 184                                    192 bytes, CUDA 13.5 (Device6)
//   stream      contextId 4   streamId 8   priority 12   flag 16   correlationId 20    24 bytes
//   graph       correlationId 4   start 8   end 16   deviceId 24   graphId 28   contextId 32
//     streamId 36                                    48 bytes, CUDA 11.8
//     endDeviceId 48   endContextId 52               56 bytes, CUDA 12.4 and 13.5 (GraphTrace2)
//   call        cbid 4   start 8   end 16   processId 24   threadId 28   correlationId 32
//     returnValue 36                                 40 bytes
#include <cstddef>
#include <cstdio>

#include "standin_records.hpp"

namespace {

#define AT(record, field, offset) \
  static_assert(offsetof(record, field) == (offset), #record "." #field " is not at " #offset)
#define SIZE(record, bytes) static_assert(sizeof(record) == (bytes), #record " is not of " #bytes)

AT(KernelRecord, kind, 0);
AT(KernelRecord, registersPerThread, 6);
AT(KernelRecord, start, 16);
AT(KernelRecord, end, 24);
AT(KernelRecord, completed, 32);
AT(KernelRecord, deviceId, 40);
AT(KernelRecord, contextId, 44);
AT(KernelRecord, streamId, 48);
AT(KernelRecord, gridX, 52);
AT(KernelRecord, gridY, 56);
AT(KernelRecord, gridZ, 60);
AT(KernelRecord, blockX, 64);
AT(KernelRecord, blockY, 68);
AT(KernelRecord, blockZ, 72);
AT(KernelRecord, staticSharedMemory, 76);
AT(KernelRecord, dynamicSharedMemory, 80);
AT(KernelRecord, localMemoryPerThread, 84);
AT(KernelRecord, localMemoryTotal, 88);
AT(KernelRecord, correlationId, 92);
AT(KernelRecord, gridId, 96);
AT(KernelRecord, name, 104);
AT(KernelRecord, queued, 120);
AT(KernelRecord, submitted, 128);
AT(KernelRecord, launchType, 136);
AT(KernelRecord, sharedMemoryExecuted, 140);
AT(KernelRecord, graphNodeId, 144);
AT(KernelRecord, graphId, 156);
AT(KernelRecord, channelID, 168);
AT(KernelRecord, channelType, 172);
AT(KernelRecord, clusterX, 176);
AT(KernelRecord, clusterY, 180);
AT(KernelRecord, clusterZ, 184);
AT(KernelRecord, clusterSchedulingPolicy, 188);
AT(KernelRecord, localMemoryTotal_v2, 192);

AT(CopyRecord, kind, 0);
AT(CopyRecord, copyKind, 4);
AT(CopyRecord, srcKind, 5);
AT(CopyRecord, dstKind, 6);
AT(CopyRecord, flags, 7);
AT(CopyRecord, bytes, 8);
AT(CopyRecord, start, 16);
AT(CopyRecord, end, 24);
AT(CopyRecord, deviceId, 32);
AT(CopyRecord, contextId, 36);
AT(CopyRecord, streamId, 40);
AT(CopyRecord, correlationId, 44);
AT(CopyRecord, runtimeCorrelationId, 48);
AT(CopyRecord, graphNodeId, 64);
AT(CopyRecord, graphId, 72);
AT(CopyRecord, channelID, 76);

AT(CUpti_ActivityMemcpyPtoP4, copyKind, 4);
AT(CUpti_ActivityMemcpyPtoP4, srcKind, 5);
AT(CUpti_ActivityMemcpyPtoP4, dstKind, 6);
AT(CUpti_ActivityMemcpyPtoP4, bytes, 8);
AT(CUpti_ActivityMemcpyPtoP4, start, 16);
AT(CUpti_ActivityMemcpyPtoP4, end, 24);
AT(CUpti_ActivityMemcpyPtoP4, deviceId, 32);
AT(CUpti_ActivityMemcpyPtoP4, contextId, 36);
AT(CUpti_ActivityMemcpyPtoP4, streamId, 40);
AT(CUpti_ActivityMemcpyPtoP4, srcDeviceId, 44);
AT(CUpti_ActivityMemcpyPtoP4, srcContextId, 48);
AT(CUpti_ActivityMemcpyPtoP4, dstDeviceId, 52);
AT(CUpti_ActivityMemcpyPtoP4, dstContextId, 56);
AT(CUpti_ActivityMemcpyPtoP4, correlationId, 60);
SIZE(CUpti_ActivityMemcpyPtoP4, 96);

AT(FillRecord, kind, 0);
AT(FillRecord, value, 4);
AT(FillRecord, bytes, 8);
AT(FillRecord, start, 16);
AT(FillRecord, end, 24);
AT(FillRecord, deviceId, 32);
AT(FillRecord, contextId, 36);
AT(FillRecord, streamId, 40);
AT(FillRecord, correlationId, 44);
AT(FillRecord, flags, 48);
AT(FillRecord, memoryKind, 50);
AT(FillRecord, graphNodeId, 64);
AT(FillRecord, graphId, 72);

AT(SyncRecord, kind, 0);
AT(SyncRecord, type, 4);
AT(SyncRecord, start, 8);
AT(SyncRecord, end, 16);
AT(SyncRecord, correlationId, 24);
AT(SyncRecord, contextId, 28);
AT(SyncRecord, streamId, 32);
AT(SyncRecord, cudaEventId, 36);

AT(EventRecord, kind, 0);
AT(EventRecord, correlationId, 4);
AT(EventRecord, contextId, 8);
AT(EventRecord, streamId, 12);
AT(EventRecord, eventId, 16);

AT(OverheadRecord, kind, 0);
AT(OverheadRecord, overheadKind, 4);
AT(OverheadRecord, objectKind, 8);
AT(OverheadRecord, objectId, 12);
AT(OverheadRecord, start, 24);
AT(OverheadRecord, end, 32);

AT(ContextRecord, kind, 0);
AT(ContextRecord, contextId, 4);
AT(ContextRecord, deviceId, 8);
AT(ContextRecord, computeApiKind, 12);
AT(ContextRecord, nullStreamId, 14);

AT(DeviceRecord, kind, 0);
AT(DeviceRecord, globalMemoryBandwidth, 8);
AT(DeviceRecord, globalMemorySize, 16);
AT(DeviceRecord, l2CacheSize, 28);
AT(DeviceRecord, coreClockRate, 36);
AT(DeviceRecord, numMultiprocessors, 44);
AT(DeviceRecord, computeCapabilityMajor, 104);
AT(DeviceRecord, computeCapabilityMinor, 108);
AT(DeviceRecord, id, 112);
AT(DeviceRecord, uuid, 120);
AT(DeviceRecord, name, 136);
AT(DeviceRecord, isMigEnabled, 145);
AT(DeviceRecord, migUuid, 160);

AT(CUpti_ActivityStream, kind, 0);
AT(CUpti_ActivityStream, contextId, 4);
AT(CUpti_ActivityStream, streamId, 8);
AT(CUpti_ActivityStream, priority, 12);
AT(CUpti_ActivityStream, flag, 16);
AT(CUpti_ActivityStream, correlationId, 20);
SIZE(CUpti_ActivityStream, 24);

AT(GraphRecord, kind, 0);
AT(GraphRecord, correlationId, 4);
AT(GraphRecord, start, 8);
AT(GraphRecord, end, 16);
AT(GraphRecord, deviceId, 24);
AT(GraphRecord, graphId, 28);
AT(GraphRecord, contextId, 32);
AT(GraphRecord, streamId, 36);

AT(CUpti_ActivityAPI, kind, 0);
AT(CUpti_ActivityAPI, cbid, 4);
AT(CUpti_ActivityAPI, start, 8);
AT(CUpti_ActivityAPI, end, 16);
AT(CUpti_ActivityAPI, processId, 24);
AT(CUpti_ActivityAPI, threadId, 28);
AT(CUpti_ActivityAPI, correlationId, 32);
AT(CUpti_ActivityAPI, returnValue, 36);
SIZE(CUpti_ActivityAPI, 40);

// What the callbacks hand over.
AT(CUpti_CallbackData, callbackSite, 0);
AT(CUpti_CallbackData, functionName, 8);
AT(CUpti_CallbackData, functionParams, 16);
AT(CUpti_CallbackData, functionReturnValue, 24);
AT(CUpti_CallbackData, symbolName, 32);
AT(CUpti_CallbackData, context, 40);
AT(CUpti_CallbackData, contextUid, 48);
AT(CUpti_CallbackData, correlationData, 56);
AT(CUpti_CallbackData, correlationId, 64);
AT(CUpti_ResourceData, context, 0);
AT(CUpti_ResourceData, resourceHandle, 8);
AT(CUpti_ResourceData, resourceDescriptor, 16);
AT(CUpti_ModuleResourceData, moduleId, 0);
AT(CUpti_ModuleResourceData, cubinSize, 8);
AT(CUpti_ModuleResourceData, pCubin, 16);
AT(CUpti_GraphData, graph, 0);
AT(CUpti_GraphData, originalGraph, 8);
AT(CUpti_GraphData, node, 16);
AT(CUpti_GraphData, originalNode, 24);
AT(CUpti_GraphData, nodeType, 32);
AT(CUpti_GraphData, dependency, 40);
AT(CUpti_GraphData, graphExec, 48);

// What follows the oldest form, and how long the whole is.
#if CUDA_VERSION >= 13050
SIZE(KernelRecord, 248);
SIZE(CopyRecord, 112);
SIZE(FillRecord, 104);
SIZE(SyncRecord, 56);
SIZE(EventRecord, 80);
SIZE(OverheadRecord, 56);
SIZE(ContextRecord, 40);
SIZE(DeviceRecord, 192);
SIZE(GraphRecord, 56);
AT(KernelRecord, isDeviceLaunched, 208);
AT(KernelRecord, priority, 216);
AT(KernelRecord, executionModel, 224);
AT(KernelRecord, sourceGraphId, 232);
AT(KernelRecord, sourceGraphNodeId, 240);
AT(CopyRecord, isDeviceLaunched, 84);
AT(CopyRecord, copyCount, 88);
AT(CopyRecord, sourceGraphId, 96);
AT(CopyRecord, sourceGraphNodeId, 104);
AT(FillRecord, isDeviceLaunched, 84);
AT(FillRecord, sourceGraphId, 88);
AT(SyncRecord, cudaEventSyncId, 40);
AT(SyncRecord, returnValue, 48);
AT(EventRecord, deviceId, 24);
AT(EventRecord, deviceTimestamp, 40);
AT(EventRecord, cudaEventSyncId, 48);
AT(EventRecord, graphNodeId, 56);
AT(EventRecord, graphId, 64);
AT(ContextRecord, numMultiprocessors, 22);
AT(ContextRecord, cigMode, 24);
AT(ContextRecord, processId, 32);
AT(DeviceRecord, numTpcs, 184);
SIZE(CUpti_ActivityKernel10, 216);
SIZE(CUpti_ActivityKernel11, 224);
SIZE(CUpti_ActivityKernel12, 232);
SIZE(CUpti_ActivityMemcpy6, 96);
SIZE(CUpti_ActivityContext3, 32);
SIZE(CUpti_ActivityCudaEvent2, 56);
#elif CUDA_VERSION >= 12040
SIZE(KernelRecord, 208);
SIZE(CopyRecord, 88);
SIZE(FillRecord, 88);
SIZE(SyncRecord, 40);
SIZE(EventRecord, 24);
SIZE(OverheadRecord, 56);
SIZE(ContextRecord, 24);
SIZE(DeviceRecord, 184);
SIZE(GraphRecord, 56);
#else
SIZE(KernelRecord, 200);
SIZE(CopyRecord, 88);
SIZE(FillRecord, 88);
SIZE(SyncRecord, 40);
SIZE(EventRecord, 24);
SIZE(OverheadRecord, 40);
SIZE(ContextRecord, 16);
SIZE(DeviceRecord, 176);
SIZE(GraphRecord, 48);
#endif
#if CUDA_VERSION >= 12040
AT(KernelRecord, maxPotentialClusterSize, 200);
AT(KernelRecord, maxActiveClusters, 204);
AT(OverheadRecord, correlationId, 40);
AT(OverheadRecord, overheadData, 48);
AT(ContextRecord, parentContextId, 16);
AT(ContextRecord, isGreenContext, 20);
AT(DeviceRecord, isNumaNode, 176);
AT(DeviceRecord, numaId, 180);
AT(GraphRecord, endDeviceId, 48);
AT(GraphRecord, endContextId, 52);
#endif

}  // namespace

int main() { std::printf("the records of CUPTI %d lie as expected\n", CUPTI_API_VERSION); }
