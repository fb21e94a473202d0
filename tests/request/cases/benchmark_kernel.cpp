//: from: readme / Benchmark Testing
//: left out: it is CUDA's language, and no whole program; instead: `benchmark_10k_stacks` launches kernels so on OpenCL, `examples/cuda/many_small_kernels.cu` on CUDA (compiled by `script/test unit`)
// Real CUDA kernel executed on GPU
__global__ void benchmark_kernel(float* data, int n, int kernel_id) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < n) {
        data[idx] = data[idx] * 2.0f + static_cast<float>(kernel_id);
    }
}

// Launches 10,000 real kernels with CUPTI profiling
for (int i = 0; i < 10000; ++i) {
    benchmark_kernel<<<blocks, threads>>>(d_data, n, i);
}
