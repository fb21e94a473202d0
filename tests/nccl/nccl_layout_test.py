#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The layouts of NCCL's profiler interface in profiler_api.hpp are those that a published NCCL was built with.

nccl_layout.json holds them as the debug information of NCCL's own library has them. `script/nccl-layout` writes it,
from the wheel of the newest NCCL that the Python index has.
"""

import json
import os
import re
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))

# NCCL's names of parts and fields, and ours.
PARTS = {"coll": "collective", "p2p": "message", "proxyOp": "proxy_operation", "proxyStep": "proxy_step",
         "kernelCh": "kernel_channel", "netPlugin": "network", "groupApi": "group_call", "collApi": "collective_call",
         "p2pApi": "message_call", "kernelLaunch": "kernel_launch", "ceColl": "copy_collective",
         "ceCollSync": "copy_sync", "ceCollBatch": "copy_batch", "kernelPhase": "kernel_phase",
         "proxyCtrl": "proxy_control"}
FIELDS = {"name": "communicator_name", "commHash": "communicator_hash", "seqNumber": "sequence", "func": "function",
          "sendBuff": "send_buffer", "recvBuff": "receive_buffer", "datatype": "data_type", "op": "reduction",
          "trafficBytes": "traffic_bytes", "nMaxChannels": "channels", "nChannels": "channels", "nWarps": "warps",
          "algo": "algorithm", "proto": "protocol", "isCollnet": "is_collnet", "isNvls": "is_nvls", "buff": "buffer",
          "channelId": "channel", "nSteps": "steps", "chunkSize": "chunk_bytes", "isSend": "is_send",
          "pTimer": "device_time", "graphCaptured": "is_captured", "groupDepth": "depth", "parentGroup": "group",
          "syncStrategy": "sync_strategy", "intraBatchSync": "has_sync_in_batch", "batchSize": "batch_size",
          "numBatches": "batches", "ceSeqNum": "copy_sequence", "isComplete": "is_complete", "nRanks": "ranks",
          "numOps": "operations", "totalBytes": "bytes", "useIntraSync": "has_sync",
          "kernelVariant": "kernel_variant", "isSymColl": "is_symmetric", "userTag": "tag", "phaseId": "phase",
          "phaseName": "phase_name", "parentObj": "parent", "transSize": "bytes", "appendedProxyOps": "appended",
          "startEvent": "start", "stopEvent": "stop", "recordEventState": "state"}


def our_name(path):
    """nccl.coll.seqNumber -> collective.sequence"""
    names = path.split(".")
    if len(names) == 1:
        return FIELDS.get(names[0], names[0]) if names[0] != "name" else "name"
    part, field = names
    ours = FIELDS.get(field, field)
    if part == "netPlugin" and field == "id":
        ours = "network_id"
    return f"{PARTS[part]}.{ours}"


def our_type(name):
    version = int(re.search(r"_v(\d)_t", name).group(1))
    if "EventDescr" in name:
        return f"Api<{version}>::Descriptor"
    return f"Api<{version}>::Arguments" if "StateArgs" in name else f"Api<{version}>::Symbol"


class Layout(unittest.TestCase):
    def test_offsets_and_sizes_are_those_of_nccl(self):
        with open(os.path.join(HERE, "nccl_layout.json"), encoding="utf-8") as file:
            published = json.load(file)
        checks = []
        for name, layout in published["types"].items():
            ours = our_type(name)
            checks.append(f"static_assert(sizeof({ours}) == {layout['bytes']}, \"{name}\");")
            for path, (offset, size) in layout["fields"].items():
                field = our_name(path)
                checks.append(f"static_assert(__builtin_offsetof({ours}, {field}) == {offset}, \"{name}.{path}\");")
                checks.append(f"static_assert(sizeof(static_cast<{ours}*>(nullptr)->{field}) == {size}, "
                              f"\"{name}.{path}\");")
        states = {"KernelChStop": "kStateKernelChannelStop"}
        for state, ours in states.items():
            checks.append(f"static_assert({ours} == {published['states']['ncclProfiler' + state]});")
        self.assertGreater(len(checks), 300)
        self.assertEqual(len(published["types"]), 3 * 7)
        source = ('#include "tracesmith/capture/agents/nccl/profiler_api.hpp"\n'
                  "using namespace tracesmith::agent::nccl;\n" + "\n".join(checks) + "\n")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "layout.cpp")
            with open(path, "w", encoding="utf-8") as file:
                file.write(source)
            result = subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only",
                                     "-Wno-invalid-offsetof", "-I", os.path.join(SOURCE, "src"), path],
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(result.returncode, 0, result.stdout.decode()[:3000])


if __name__ == "__main__":
    unittest.main()
