// SPDX-License-Identifier: Apache-2.0
// A program with NVTX ranges around kernels, that says how many of each. The headers of NVTX load
// what NVTX_INJECTION64_PATH names at the first call. Usage: standin_nvtx_program [ROUNDS [HOW]]
// HOW is how it begins: with a mark before CUDA ("nvtx_first"), with one beside it ("both"), or
// with one in its parent, which has no CUDA ("child").
//
// Keys: push_ranges (nested_ranges of them are within others), process_ranges (cross_thread_ranges
// of them end on another thread, unended_ranges never), marks; of all of those payload_events have
// a number with them, extended_payloads a structure, category_events a category, wide_texts a text
// of wchar_t, registered_events a registered string, and domain_events are not of the default
// domain. domains, categories, registered_strings and named_threads are what was made; kernels are
// launched within push_ranges, unannotated_kernels outside of all.
#include <cuda.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <thread>

namespace {

struct {
  unsigned push_ranges, nested_ranges, process_ranges, cross_thread_ranges, unended_ranges, marks,
      payload_events, extended_payloads, category_events, wide_texts, registered_events,
      domain_events, domains, categories, registered_strings, named_threads, threads, kernels,
      unannotated_kernels;
} counts;

struct Batch {
  int32_t size;
  float loss;
};

void check(CUresult result) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "CUDA error %d\n", static_cast<int>(result));
  std::exit(1);
}

CUcontext context = nullptr;
CUfunction kernel = nullptr;

void start() {
  CUmodule module = nullptr;
  check(cuInit(0));
  check(cuDevicePrimaryCtxRetain(&context, 0));
  check(cuCtxSetCurrent(context));
  check(cuModuleLoadData(&module, "text"));
  check(cuModuleGetFunction(&kernel, module, "vectorAdd"));
}

void launch(unsigned* counted) {
  check(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr));
  ++*counted;
}

nvtxEventAttributes_t attributes() {
  nvtxEventAttributes_t made{};
  made.version = NVTX_VERSION;
  made.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  made.messageType = NVTX_MESSAGE_TYPE_ASCII;
  return made;
}

// Ranges of the default domain, one in another.
void plainRanges() {
  nvtxRangePushA("step");
  nvtxRangePushW(L"forward");
  launch(&counts.kernels);
  nvtxMarkA("halfway");
  nvtxRangePop();
  nvtxRangePushA("backward");
  launch(&counts.kernels);
  nvtxRangePop();
  nvtxRangePop();
  counts.push_ranges += 3;
  counts.nested_ranges += 2;
  ++counts.wide_texts;
  ++counts.marks;
}

void ranges(nvtxDomainHandle_t domain, nvtxStringHandle_t text, uint64_t schema, unsigned round) {
  nvtxEventAttributes_t with = attributes();
  with.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  with.message.registered = text;
  with.category = 1;
  with.colorType = NVTX_COLOR_ARGB;
  with.color = 0xff00ff00;
  with.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  with.payload.ullValue = round;
  nvtxDomainRangePushEx(domain, &with);
  launch(&counts.kernels);
  nvtxDomainRangePop(domain);
  ++counts.push_ranges, ++counts.domain_events;
  ++counts.registered_events, ++counts.category_events, ++counts.payload_events;

  nvtxEventAttributes_t mark = attributes();
  mark.message.ascii = "loss";
  mark.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
  mark.payload.dValue = 0.5 * round;
  nvtxDomainMarkEx(domain, &mark);
  ++counts.marks, ++counts.domain_events, ++counts.payload_events;

  const Batch batch{static_cast<int32_t>(round), 0.25f};
  const nvtxPayloadData_t data{schema, sizeof batch, &batch};
  nvtxEventAttributes_t extended = attributes();
  extended.message.ascii = "batch";
  extended.payloadType = NVTX_PAYLOAD_TYPE_EXT;
  extended.reserved0 = 1;  // how many payloads there are
  extended.payload.ullValue = NVTX_POINTER_AS_PAYLOAD_ULLVALUE(&data);
  nvtxDomainRangePushEx(domain, &extended);
  nvtxDomainRangePop(domain);
  ++counts.push_ranges, ++counts.domain_events, ++counts.extended_payloads;
}

// One that ends where it began, one that ends on another thread, and one that overlaps both.
void processRanges(nvtxDomainHandle_t domain) {
  const nvtxRangeId_t whole = nvtxRangeStartA("request");
  nvtxEventAttributes_t with = attributes();
  with.message.ascii = "loading";
  const nvtxRangeId_t other = nvtxDomainRangeStartEx(domain, &with);
  const nvtxRangeId_t here = nvtxRangeStartA("here");
  nvtxRangeEnd(whole);
  std::thread([domain, other] {
    check(cuCtxSetCurrent(context));
    nvtxNameOsThreadA(static_cast<uint32_t>(gettid()), "loader");
    nvtxRangePushA("in the loader");
    launch(&counts.kernels);
    nvtxRangePop();
    nvtxDomainRangeEnd(domain, other);
  }).join();
  nvtxRangeEnd(here);
  counts.process_ranges += 3;
  ++counts.cross_thread_ranges, ++counts.domain_events;
  ++counts.push_ranges, ++counts.threads, ++counts.named_threads;
}

void say() {
  std::printf("{\"mode\": \"nvtx\", \"pid\": %d, \"injected\": %d", static_cast<int>(getpid()),
              std::getenv("STANDIN_NVTX_INJECTED") != nullptr);
#define SAY(name) std::printf(", \"" #name "\": %u", counts.name)
  SAY(push_ranges), SAY(nested_ranges), SAY(process_ranges), SAY(cross_thread_ranges);
  SAY(unended_ranges), SAY(marks), SAY(payload_events), SAY(extended_payloads);
  SAY(category_events), SAY(wide_texts), SAY(registered_events), SAY(domain_events);
  SAY(domains), SAY(categories), SAY(registered_strings), SAY(named_threads), SAY(threads);
  SAY(kernels), SAY(unannotated_kernels);
#undef SAY
  std::printf("}\n");
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned rounds = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 10;
  const std::string_view how = argc > 2 ? argv[2] : "";
  if (how == "child") {
    nvtxMarkA("in the parent");
    const pid_t child = fork();
    if (child != 0) {
      int status = 0;
      waitpid(child, &status, 0);
      return WEXITSTATUS(status);
    }
  }
  std::thread beside;
  if (how == "nvtx_first" || how == "both") {
    ++counts.marks;
    beside = std::thread([] { nvtxMarkA("beside CUDA"); });
    if (how == "nvtx_first") beside.join();
  }
  start();
  if (beside.joinable()) beside.join();
  nvtxNameOsThreadA(static_cast<uint32_t>(gettid()), "main loop");
  ++counts.named_threads;
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("training");
  ++counts.domains;
  nvtxDomainNameCategoryA(domain, 1, "compute");
  nvtxNameCategoryA(2, "other");
  counts.categories += 2;
  const nvtxStringHandle_t text = nvtxDomainRegisterStringA(domain, "optimizer");
  ++counts.registered_strings;

  const nvtxPayloadSchemaEntry_t entries[] = {{0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "size", nullptr, 0,
                                               offsetof(Batch, size), nullptr, nullptr},
                                              {0, NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, "loss", nullptr, 0,
                                               offsetof(Batch, loss), nullptr, nullptr}};
  nvtxPayloadSchemaAttr_t schema{};
  schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
  schema.name = "Batch";
  schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  schema.entries = entries;
  schema.numEntries = 2;
  schema.payloadStaticSize = sizeof(Batch);
  const uint64_t schema_id = nvtxPayloadSchemaRegister(domain, &schema);

  for (unsigned i = 0; i < rounds; ++i) {
    plainRanges();
    ranges(domain, text, schema_id, i);
    processRanges(domain);
    launch(&counts.unannotated_kernels);
  }
  (void)nvtxRangeStartA("never ends");
  ++counts.process_ranges, ++counts.unended_ranges;
  check(cuCtxSynchronize());
  nvtxDomainDestroy(domain);
  say();
}
