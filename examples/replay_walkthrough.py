# SPDX-License-Identifier: Apache-2.0
"""Replay a recording, completely and in part, and compare its results.
replay_walkthrough.py   writes replay.sbt, replay.sbr; exits with 77 without OpenCL"""
import tracesmith as ts
from walkthrough import expect, profile, tracesmith

profile("replay.sbt", "--record")

engine = ts.ReplayEngine()
engine.load_trace("replay.sbt")
for title, changes in {
    "all of it": {},
    "one stream": {"mode": ts.ReplayMode.StreamSpecific, "stream_id": 0},
    "nothing, only what would be": {"mode": ts.ReplayMode.DryRun},
}.items():
    config = ts.ReplayConfig()
    for name, value in changes.items():
        setattr(config, name, value)
    result = engine.replay(config)
    print(f"{title}:\n  " + "\n  ".join(result.summary().splitlines()))
    expect(result.success and not result.simulated, title)
    if title == "all of it":
        expect(result.deterministic, "the results are those of the recording")

# A part, with its dependencies; and other legal orders.
print(tracesmith("replay", "replay.sbt", "--mode", "partial", "--range", "launch:3-5"), end="")
print(tracesmith("replay", "replay.sbt", "--order", "random", "--runs", "3", "--seed", "1"), end="")
