// SPDX-License-Identifier: Apache-2.0
#include "tracesmith/model/names/collective_names.hpp"

#include <iterator>
#include <string>

namespace tracesmith {
namespace {

struct Word {
  std::string_view text;
  CollectiveOp op;
};
// Longer words come before words that they contain.
constexpr Word kWords[] = {
    {"allreduce", CollectiveOp::kAllReduce},
    {"allgather", CollectiveOp::kAllGather},
    {"reducescatter", CollectiveOp::kReduceScatter},
    {"alltoall", CollectiveOp::kAllToAll},
    {"broadcast", CollectiveOp::kBroadcast},
    {"bcast", CollectiveOp::kBroadcast},
    {"sendrecv", CollectiveOp::kSendRecv},
    {"sendreceive", CollectiveOp::kSendRecv},
    {"barrier", CollectiveOp::kBarrier},
    {"gather", CollectiveOp::kGather},
    {"scatter", CollectiveOp::kScatter},
    {"reduce", CollectiveOp::kReduce},
    {"send", CollectiveOp::kSend},
    {"receive", CollectiveOp::kRecv},
    {"recv", CollectiveOp::kRecv},
};

/// How much of a name must match to attribute it to a library.
enum class NameRule : uint8_t {
  kAll,       ///< every name with this prefix is a kernel or range of the library
  kWithWord,  ///< the prefix and the name of a collective: other names have this prefix too
  kAnywhere,  ///< the text anywhere in the name: functions in namespaces, kernels from templates
};

struct Library {
  std::string_view name;
  std::string_view text;  ///< in lower case
  NameRule rule;
  CollectiveOp op = CollectiveOp::kNone;  ///< used if the names do not tell the operation
};
// Sources:
//   NCCL          src/device/generate.py of NVIDIA/nccl (ncclDevKernel_…, before 2.19 ncclKernel_…)
//   RCCL          the same names; ROCm/rccl, src/device/generate.py; MSCCL kernels: msccl…
//   PyTorch       names its ranges "<backend>:<operation>": ProcessGroupNCCL.cpp, …Gloo.cpp,
//                 …MPI.cpp, …UCC.cpp of pytorch/pytorch, ProcessGroupXCCL.cpp of
//                 intel/torch-xpu-ops, ProcessGroupMCCL.cpp of MooreThreads/torch_musa,
//                 process_group_cncl.cpp of Cambricon/torch_mlu. Kineto's XPU activities are
//                 called xccl::allreduce.
//   MetaX, Moore Threads   both call their library MCCL: mcclKernel_AllReduce_RING_SIMPLE_Sum_…
//   Ascend        hcom_allReduce__428_0_1 (opName of the table COMMUNICATION_OP, "msprof" in
//                 Huawei's documentation of CANN); hccl… and …AicpuKernel run on its AI CPU.
//   Habana        hccl…; also one of HTA's patterns (hta/common/types.py)
//   oneCCL        oneccl_allreduce_…, ccl_allreduce_…; src/coll of uxlfoundation/oneCCL
//   Baidu Kunlun  bkcl_…
//   MPI           MPI_Allreduce, PMPI_Allreduce: the names of the MPI standard
//   vLLM, SGLang  cross_device_reduce_1stage: csrc/custom_all_reduce.cuh of vllm-project/vllm
//   PyTorch       one_shot_all_reduce_kernel, two_shot_…, multimem_…: CUDASymmetricMemoryOps.cu
//   TensorRT-LLM  oneShotAllReduceKernel: cpp/tensorrt_llm/kernels/customAllReduceKernels.cu;
//                 FlashInfer's allreduce_fusion_kernel_oneshot_lamport
//   vLLM, AITER   allreduce_prototype_twoshot: csrc/quickreduce/quick_reduce.h of
//                 vllm-project/vllm, csrc/include/quick_all_reduce.cuh of ROCm/aiter
//   XLA           AllReduceKernelImpl: stream_executor::gpu in openxla/xla
//   DeepEP        deep_ep::intranode::dispatch and others: csrc/kernels of deepseek-ai/DeepEP; each
//                 rank sends tokens to the ranks of their experts, and gets the results back
constexpr Library kLibraries[] = {
    {"NCCL, RCCL", "nccl", NameRule::kAll},
    {"RCCL", "rccl", NameRule::kAll},
    {"MSCCL", "msccl", NameRule::kAll},
    {"MCCL (MetaX, Moore Threads)", "mccl", NameRule::kAll},
    {"HCCL (Ascend)", "hcom_", NameRule::kAll},
    {"HCCL (Ascend, Habana)", "hccl", NameRule::kAll},
    {"CNCL (Cambricon)", "cncl", NameRule::kAll},
    {"BKCL (Kunlun)", "bkcl", NameRule::kAll},
    {"Gloo", "gloo:", NameRule::kAll},
    {"XCCL, oneCCL", "xccl", NameRule::kAll},
    {"UCC", "ucc:", NameRule::kAll},
    {"UCC", "ucc_", NameRule::kWithWord},
    {"MPI", "mpi:", NameRule::kAll},
    {"MPI", "mpi_", NameRule::kWithWord},
    {"MPI", "pmpi_", NameRule::kWithWord},
    {"oneCCL", "oneccl", NameRule::kAnywhere},
    // "ccl_" also stands for connected-component labelling.
    {"oneCCL", "ccl_", NameRule::kWithWord},
    {"vLLM, SGLang", "cross_device_reduce", NameRule::kAnywhere, CollectiveOp::kAllReduce},
    {"all-reduce of a framework", "all_reduce_kernel", NameRule::kAnywhere},
    {"all-reduce of a framework", "allreducekernel", NameRule::kAnywhere},
    {"all-reduce of a framework", "allreduce_fusion_kernel", NameRule::kAnywhere},
    {"all-reduce of a framework", "allreduce_prototype", NameRule::kAnywhere},
    {"XLA", "allreducekernelimpl", NameRule::kAnywhere},
    {"DeepEP", "deep_ep::intranode::dispatch", NameRule::kAnywhere, CollectiveOp::kAllToAll},
    {"DeepEP", "deep_ep::intranode::combine", NameRule::kAnywhere, CollectiveOp::kAllToAll},
    {"DeepEP", "deep_ep::internode::dispatch", NameRule::kAnywhere, CollectiveOp::kAllToAll},
    {"DeepEP", "deep_ep::internode::combine", NameRule::kAnywhere, CollectiveOp::kAllToAll},
    {"DeepEP", "deep_ep::internode_ll::dispatch", NameRule::kAnywhere, CollectiveOp::kAllToAll},
    {"DeepEP", "deep_ep::internode_ll::combine", NameRule::kAnywhere, CollectiveOp::kAllToAll},
    {"HCCL (Ascend)", "allreduceaicpukernel", NameRule::kAnywhere},
};

bool isUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool isLower(char c) { return c >= 'a' && c <= 'z'; }

/// The name without a result type, truncated to the part that is examined.
std::string_view examinedPart(std::string_view name) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  return name.substr(0, 512);
}

std::string lowerOf(std::string_view name) {
  std::string out(name);
  for (char& c : out) c = isUpper(c) ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

/// Whether the `size` characters at `at` are whole words of an identifier: cross_device_reduce does
/// not match in cross_device_reducer, nor AllReduceKernel in AllReduceKernelTest.
bool isWholeWord(std::string_view name, size_t at, size_t size, bool ends_name) {
  const char before = at > 0 ? name[at - 1] : ' ';
  const char after = at + size < name.size() ? name[at + size] : ' ';
  if ((isUpper(before) || isLower(before)) && !isUpper(name[at])) return false;
  return !isLower(after) && !(ends_name && isUpper(after));
}

/// Letters and digits from position `from` up to the arguments.
std::string wordsOf(std::string_view name, size_t from) {
  std::string out;
  for (const char c : name.substr(from, 128)) {
    if (c == '(' || c == '<') break;
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
  }
  return out;
}

CollectiveOp opOf(std::string_view words) {
  for (const Word& word : kWords) {
    if (words.find(word.text) != std::string_view::npos) return word.op;
  }
  return CollectiveOp::kNone;
}

struct Match {
  const Library* library = nullptr;
  CollectiveOp op = CollectiveOp::kNone;
  std::string words;  ///< after the text that identifies the library
};

Match match(std::string_view name) {
  name = examinedPart(name);
  const std::string lower = lowerOf(name);
  Match out;
  for (const Library& library : kLibraries) {
    const bool anywhere = library.rule == NameRule::kAnywhere;
    const size_t at = anywhere ? lower.find(library.text)
                               : (lower.starts_with(library.text) ? 0 : std::string::npos);
    if (at == std::string::npos) continue;
    const bool ends_name = library.text.ends_with("kernel") || library.text.ends_with("kernelimpl");
    if (anywhere && !isWholeWord(name, at, library.text.size(), ends_name)) continue;
    // The text that identifies the library may also name the collective: all_reduce_kernel.
    out.words = wordsOf(lower, anywhere ? at : library.text.size());
    out.op = library.op == CollectiveOp::kNone ? opOf(out.words) : library.op;
    if (library.rule == NameRule::kWithWord && out.op == CollectiveOp::kNone) continue;
    out.library = &library;
    return out;
  }
  return {};
}

}  // namespace

CollectiveOp collectiveOf(std::string_view name) {
  const Match found = match(name);
  if (found.library == nullptr || found.op != CollectiveOp::kNone) return found.op;
  // A kernel that runs any requested operation; other such names are functions that move no data.
  const std::string_view words = found.words;
  const bool kernel = words.starts_with("devkernel") || words.starts_with("kernel") ||
                      words.starts_with("generickernel");
  return kernel ? CollectiveOp::kOther : CollectiveOp::kNone;
}

std::string_view collectiveLibraryOf(std::string_view name) {
  const Match found = match(name);
  return found.library == nullptr ? "" : found.library->name;
}

bool isCollectiveKernel(std::string_view name) { return match(name).library != nullptr; }

std::vector<std::string_view> collectiveTexts() {
  std::vector<std::string_view> out;
  for (const Library& library : kLibraries) out.push_back(library.text);
  return out;
}

std::string_view toString(CollectiveOp op) {
  constexpr std::string_view kNames[] = {
      "none",   "other",  "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast",
      "reduce", "gather", "scatter",    "send_recv",  "send",           "recv",       "barrier"};
  const auto i = static_cast<size_t>(op);
  return i < std::size(kNames) ? kNames[i] : "unknown";
}

}  // namespace tracesmith
