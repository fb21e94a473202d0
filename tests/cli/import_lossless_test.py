#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What was imported comes back: `import`, then `export -f json`, is the same data, to the ns."""

import gzip
import json
import os
import unittest

from harness import CommandTest

DATA = os.environ.get("TRACESMITH_TEST_DATA")


class Number:
    """A number with a fraction, as digits: 1.50 and 1.5 are the same, 1.5000000000000000001 is not."""

    __slots__ = ("text",)

    def __init__(self, text):
        if "e" not in text and "E" not in text and "." in text:
            text = text.rstrip("0").rstrip(".")
        self.text = "0" if text == "-0" else text

    def __repr__(self):
        return self.text


def load(raw):
    """The document's members, and its events as a sorted list of texts."""
    document = json.loads(raw, parse_float=lambda t: Number(t), strict=False)
    events = document if isinstance(document, list) else document.pop("traceEvents")
    # 1.0 is 1 in JSON, and to every reader that asks for a number.
    return (repr(document) if isinstance(document, dict) else "", sorted(map(repr, events)))


def traces():
    found = []
    for folder, _, names in os.walk(os.path.join(DATA or "/nonexistent", "traces")):
        for name in names:
            if not name.endswith((".json", ".json.gz")):
                continue
            path = os.path.join(folder, name)
            with (gzip.open if name.endswith(".gz") else open)(path, "rb") as file:
                raw = file.read()
            head = raw[:1 << 20].lstrip()
            if b'"traceEvents"' in raw or (head[:1] == b"[" and b'"ph"' in head):
                found.append((path, raw))
    return sorted(found)


class ImportLossless(CommandTest):

    def bring_back(self, path):
        sbt, back = os.path.join(self.dir, "t.sbt"), os.path.join(self.dir, "t.json")
        imported = self.run_command("import", path, "-q", "-o", sbt)
        self.assertEqual(imported.returncode, 0, imported.stderr)
        exported = self.run_command("export", sbt, "-q", "-o", back)
        self.assertEqual(exported.returncode, 0, exported.stderr)
        with open(back, "rb") as file:
            return file.read(), os.path.getsize(sbt)

    def test_odd_documents(self):
        documents = [
            '{"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2,'
            '"args":{"a":"1","a":"2","a#2":"3"}}]}',
            '[{"ph":"X","name":"\\ud800 half","pid":"p","tid":null,"ts":1.5,"dur":-3},'
            '{"ph":"X","name":5,"ts":"7","dur":1e3,"args":[1,{"x":[]}]},{},{"args":{}},'
            '{"ph":"M","args":{"name":"\\u0000\\n"}},'
            '{"ph":"X","ts":123456789012345678901234567890,"dur":0.1234567890123,"id":-0}]',
            '{"traceEvents":[{"ph":"C","name":"c","pid":1,"ts":1,"args":{"v":1.50,"w":-7}}],'
            '"x":{"deep":[[[]]]},"\\u00e9":true}',
            '{"traceEvents":[{"ph":"X","name":"launch","cat":"cuda_runtime","pid":1,"tid":1,"ts":1,'
            '"dur":2,"sf":7,"args":{}}],"stackFrames":{"5":{"name":"main","category":"a"},'
            '"7":{"name":"f (a.c:1)","parent":"5"}}}',
            # Slices that cross, an end of none, ends of arrows, numbers that are none.
            '[{"ph":"B","name":"a","pid":1,"tid":1,"ts":1,"bind_id":"0x7","flow_out":true},'
            '{"ph":"B","name":"b","pid":1,"tid":1,"ts":2.00049,"bind_id":7},'
            '{"ph":"E","name":"x","pid":1,"tid":1,"ts":3},{"ph":"E","name":"a","pid":1,"tid":1,"ts":4},'
            '{"ph":"E","name":"b","pid":1,"tid":1,"ts":5,"args":{"c":1}},'
            '{"ph":"X","name":"c","pid":1,"tid":2,"ts":"100a","dur":"2.0005"},'
            '{"ph":"X","name":"d","pid":1,"tid":2,"ts":7.0004999,"dur":"5a","bind_id":7,"flow_in":true},'
            '{"ph":"C","name":"e","pid":1,"ts":8,"args":{"v":"1.50","w":"x"}}]',
        ]
        for number, text in enumerate(documents):
            with self.subTest(text):
                path = self.path(f"odd{number}.json")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                back, _ = self.bring_back(path)
                self.assertEqual(load(text), load(back))

    def test_members_of_any_size(self):
        event = '"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2}]'
        path = self.path("large.json")
        for mib in (17, 33):
            # Characters of two and three bytes, of which none may be cut in two.
            value = '["' + "é€x" * (mib * 2**20 // 6) + '",{"z":[null,1.5]}]'
            for text in (f'{{{event},"m":{value},"n":1}}', f'{{"m":{value},{event}}}'):
                with self.subTest(mib):
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(text)
                    back, _ = self.bring_back(path)
                    self.assertEqual(load(text), load(back))

    def test_a_member_that_does_not_end(self):
        with open(self.path("cut.json"), "w", encoding="utf-8") as file:
            file.write('{"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":2}],"m":"' + "x" * (17 << 20))
        for command in (("import", "-o", "t.sbt"), ("view", "--stats")):
            result = self.run_command(*command, "cut.json")
            self.assertEqual(result.returncode, 3, result.stderr)
            self.assertIn(b"could not be used", result.stderr)

    def test_every_real_trace(self):
        files = traces()
        if not files:
            self.skipTest("no real traces (TRACESMITH_TEST_DATA)")
        packed = stored = 0
        for path, raw in files:
            with self.subTest(path):
                back, sbt_bytes = self.bring_back(path)
                source, got = load(raw), load(back)
                self.assertEqual(len(source[1]), len(got[1]))
                for mine, theirs in zip(source[1], got[1]):
                    if mine != theirs:
                        self.fail(f"an event differs:\n{mine[:2000]}\n{theirs[:2000]}")
                self.assertEqual(sorted(source[0]), sorted(got[0]))
                gz_bytes = os.path.getsize(path)
                if path.endswith(".gz"):
                    packed, stored = packed + gz_bytes, stored + sbt_bytes
                    if gz_bytes > 400_000:
                        self.assertLess(sbt_bytes * 4, gz_bytes, "larger than a quarter of .json.gz")
        self.assertLess(stored * 5, packed, "larger than a fifth of .json.gz over all")
        print(f"{len(files)} real traces came back; .json.gz / .sbt = {packed / stored:.2f}")

    def test_timelines_of_other_tools(self):
        for name, text in DIALECTS.items():
            with self.subTest(name):
                path = os.path.join(self.dir, name + ".json")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                back, _ = self.bring_back(path)
                self.assertEqual(load(text), load(back))


# Made by hand; see chrome_dialects_test.cpp.
DIALECTS = {
    "ascend": """[
{"ph":"M","name":"process_name","pid":41,"tid":0,"args":{"name":"Ascend Hardware"}},
{"ph":"M","name":"process_labels","pid":41,"tid":0,"args":{"labels":"NPU 3"}},
{"ph":"X","name":"Node@launch","pid":5,"tid":20,"ts":"1699529623106710","dur":8.2,
 "args":{"Thread Id":20,"Mode":"launch","level":"node","connection_id":3013}},
{"ph":"X","name":"MatMul","pid":41,"tid":16,"ts":"1699529623106750.250","dur":160.26,
 "args":{"Task Type":"AI_CORE","Stream Id":16,"Task Id":13489,"connection_id":3013}},
{"ph":"X","name":"MatMul","pid":41,"tid":16,"ts":"1699529623106950.250","dur":160.26,
 "args":{"Task Type":"SDMA_SQE","Stream Id":16,"Task Id":13490,"connection_id":3014}},
{"ph":"X","name":"MatMul","pid":41,"tid":16,"ts":"17669.780\\t","dur":"6.000",
 "args":{"Task Type":"EVENT_WAIT_SQE","Stream Id":16,"Task Id":13491,"connection_id":-1}}]""",
    "mctracer": """{"traceEvents":[
{"ph":"X","name":"mcMalloc","pid":3,"tid":3,"ts":5000000123,"dur":2100,"args":{}},
{"ph":"X","name":"k(int)","cat":"gpu_op","pid":3,"tid":9,"ts":5000020001,"dur":96601,
 "args":{"grid":{"x":64,"y":2,"z":1},"block":{"x":256,"y":1,"z":1},
 "mem":{"registers_per_thread":32,"static_shared":128},"mtreg_occupancy(%)":75.0}},
{"ph":"X","name":"late","pid":3,"tid":9,"ts":5000020001.25,"dur":0.5,"args":{}}],"x":1}""",
}


if __name__ == "__main__":
    unittest.main()
