// SPDX-License-Identifier: Apache-2.0
// The record of each kind that CUPTI writes in the version whose headers are compiled against.
#pragma once

#include <cupti.h>

using PeerRecord = CUpti_ActivityMemcpyPtoP4;
#if CUDA_VERSION >= 13050
using MemoryRecord = CUpti_ActivityMemory4;
using PoolRecord = CUpti_ActivityMemoryPool3;
using UnifiedRecord = CUpti_ActivityUnifiedMemoryCounter3;
using JitRecord = CUpti_ActivityJit2;
using KernelRecord = CUpti_ActivityKernel13;
using CopyRecord = CUpti_ActivityMemcpy7;
using FillRecord = CUpti_ActivityMemset5;
using SyncRecord = CUpti_ActivitySynchronization2;
using EventRecord = CUpti_ActivityCudaEvent3;
using OverheadRecord = CUpti_ActivityOverhead3;
using ContextRecord = CUpti_ActivityContext4;
using DeviceRecord = CUpti_ActivityDevice6;
using GraphRecord = CUpti_ActivityGraphTrace2;
#elif CUDA_VERSION >= 12040
using MemoryRecord = CUpti_ActivityMemory3;
using PoolRecord = CUpti_ActivityMemoryPool2;
using UnifiedRecord = CUpti_ActivityUnifiedMemoryCounter2;
using JitRecord = CUpti_ActivityJit2;
using KernelRecord = CUpti_ActivityKernel9;
using CopyRecord = CUpti_ActivityMemcpy5;
using FillRecord = CUpti_ActivityMemset4;
using SyncRecord = CUpti_ActivitySynchronization;
using EventRecord = CUpti_ActivityCudaEvent;
using OverheadRecord = CUpti_ActivityOverhead3;
using ContextRecord = CUpti_ActivityContext2;
using DeviceRecord = CUpti_ActivityDevice5;
using GraphRecord = CUpti_ActivityGraphTrace2;
#else
using MemoryRecord = CUpti_ActivityMemory3;
using PoolRecord = CUpti_ActivityMemoryPool2;
using UnifiedRecord = CUpti_ActivityUnifiedMemoryCounter2;
using JitRecord = CUpti_ActivityJit;
using KernelRecord = CUpti_ActivityKernel8;
using CopyRecord = CUpti_ActivityMemcpy5;
using FillRecord = CUpti_ActivityMemset4;
using SyncRecord = CUpti_ActivitySynchronization;
using EventRecord = CUpti_ActivityCudaEvent;
using OverheadRecord = CUpti_ActivityOverhead;
using ContextRecord = CUpti_ActivityContext;
using DeviceRecord = CUpti_ActivityDevice4;
using GraphRecord = CUpti_ActivityGraphTrace;
#endif
