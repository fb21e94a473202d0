// SPDX-License-Identifier: Apache-2.0
// In the place of libcuda for a program that is linked without it, as those with a static runtime
// are: some of its modes, which it is not run in, call the driver by name.
#include <cstdlib>

#define NOT_CALLED(function) \
  void function() { std::abort(); }

extern "C" {
NOT_CALLED(cuCtxGetCurrent)
NOT_CALLED(cuCtxSetCurrent)
NOT_CALLED(cuCtxSynchronize)
NOT_CALLED(cuDeviceGet)
NOT_CALLED(cuDevicePrimaryCtxRetain)
NOT_CALLED(cuEventCreate)
NOT_CALLED(cuEventRecord)
NOT_CALLED(cuEventSynchronize)
NOT_CALLED(cuGraphAddKernelNode)
NOT_CALLED(cuGraphAddKernelNode_v2)
NOT_CALLED(cuGraphCreate)
NOT_CALLED(cuGraphInstantiateWithFlags)
NOT_CALLED(cuGraphInstantiate_v2)
NOT_CALLED(cuGraphLaunch)
NOT_CALLED(cuInit)
NOT_CALLED(cuLaunchKernel)
NOT_CALLED(cuLaunchKernelEx)
NOT_CALLED(cuMemAlloc_v2)
NOT_CALLED(cuMemFree_v2)
NOT_CALLED(cuMemcpyDtoDAsync_v2)
NOT_CALLED(cuMemcpyDtoH_v2)
NOT_CALLED(cuMemcpyHtoD_v2)
NOT_CALLED(cuMemsetD32_v2)
NOT_CALLED(cuModuleGetFunction)
NOT_CALLED(cuModuleLoadData)
NOT_CALLED(cuStreamBeginCapture_v2)
NOT_CALLED(cuStreamCreate)
NOT_CALLED(cuStreamEndCapture)
NOT_CALLED(cuStreamSynchronize)
NOT_CALLED(cuStreamWaitEvent)
}
