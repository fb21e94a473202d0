// SPDX-License-Identifier: Apache-2.0
// A program of CUDA's driver API that does a known amount of work and says what, as one JSON
// object. Usage: standin_program MODE [NUMBER...]
//   launches KERNELS [STREAMS]
//   threads THREADS KERNELS_EACH
//   many_threads THREADS       all live at once, each with a stream and four kernels
//   events ROUNDS [KILL]       two streams; one waits for events of the other, recorded twice; then
//                              prints, and kills itself
//   graph LAUNCHES
//   fork                       a child that ends by exit() without using CUDA, amid the work
//   waves TIMES THREADS        threads with four kernels each, which end before the next begin
//   bare_fork CHILDREN         children of the bare system call that call CUDA all the same
//   children N KERNELS         N children that execute this program, the ith with KERNELS + i
//                              launches; each prints what it did, in any order
//   bare_children N KERNELS    the same, forked by the bare system call
//   child_exit                 as fork, while kernels run; how long the child took is child_ms
//   abort                      prints, and kills itself amid its work
//   busy KERNELS [WAIT_MS]     prints with that many long kernels queued, waits, kills itself
//   pause WAIT_MS              works, waits, works
//   exec [WAIT_MS]             works, waits, executes itself with kernels of another name, works;
//                              the first one's counts begin with before_
//   longjmp                    leaves a waiting call by siglongjmp, and works on
//   two_devices                works in contexts of two devices (STANDIN_SCRIPT=devices=2)
//   modules ROUNDS             loads, uses and unloads a module
//   reset                      resets the primary context, and works on in its next one
//   memory ROUNDS              allocates and frees in each way there is
//   managed                    unified memory that faults, moves and is prefetched
//   capture LAUNCHES           a graph that is captured from two streams
//   expandable ROUNDS [WAIT_MS] a segment that grows and shrinks chunk by chunk, as PyTorch's do,
//                              and keeps some chunks; waits after each round
//   early_release ROUNDS       handles are released while their memory is mapped
//   retained                   handles of mapped addresses, imported handles, memory of the host
//   virtual_threads THREADS ROUNDS  each unmaps and releases what another one created
//   virtual_devices            chunks on two devices (STANDIN_SCRIPT=devices=2)
//   values                     streams that write values and wait for them
//   finalize                   calls cuptiFinalize between two halves of its work
// STANDIN_KERNEL is what the kernels are called instead of vectorAdd.
#include "standin_program.hpp"

#include <string>

using namespace program;

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const unsigned first = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 0;
  const unsigned second = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 0;
  start();
  if (mode == "launches") {
    launches(first, second != 0 ? second : 3);
  } else if (mode == "threads") {
    inThreads(first, second);
  } else if (mode == "graph") {
    graph(first);
  } else if (!processMode(mode.c_str(), first, second) &&
             !deviceMode(mode.c_str(), first, second) && !memoryMode(mode.c_str(), first, second) &&
             !virtualMode(mode.c_str(), first, second)) {
    std::fprintf(stderr, "usage: see the head of standin_program.cpp\n");
    return 2;
  }
  say(mode.c_str());
}
