# SPDX-License-Identifier: Apache-2.0
"""`studio`: its server answers only to whoever has the printed address, with the numbers of SQL and
`analyze`, and ends cleanly."""

import gzip
import http.client
import json
import os
import signal
import socket
import struct
import subprocess
import threading
import time
import unittest

from harness import PROGRAM, CommandTest, environment

LIMIT_S = 60
CELLS = 512


class Server:
    def __init__(self, test, *arguments, cwd):
        self.process = subprocess.Popen(
            [PROGRAM, "studio", *arguments, "--no-browser"], cwd=cwd, env=environment(),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        test.addCleanup(self.end)
        self.url = self.process.stdout.readline().decode().strip()
        if self.url:
            self.host = self.url.split("/")[2]
            self.token = self.url.split("=")[1]
            self.cookie = f"tracesmith_{self.host.split(':')[1]}={self.token}"

    def ask(self, target, body=None, **headers):
        """Returns (status, headers, body)."""
        connection = http.client.HTTPConnection(self.host, timeout=LIMIT_S)
        headers = {"Cookie": self.cookie, **{k.replace("_", "-"): v for k, v in headers.items()}}
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        connection.request("GET" if body is None else "POST", target,
                           body=None if body is None else json.dumps(body), headers=headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, dict(answer.getheaders()), content

    def json(self, target, body=None):
        status, _, content = self.ask(target, body)
        if status != 200:
            raise AssertionError(f"{target}: {status} {content.decode()}")
        return json.loads(content)

    def ended_job(self, number):
        """A run of the server, when it has ended."""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            job = self.json(f"/api/job?id={number}")
            if job["state"] != "running":
                return job
            time.sleep(0.05)
        raise AssertionError("the run does not end")

    def end(self, number=signal.SIGINT):
        if self.process.poll() is None:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode, out.decode(), err.decode()


def tiles_of(content):
    """[(lane, level, index, cells or None, spans or None)]"""
    magic, count = struct.unpack_from("<II", content)
    assert magic == 0x31545354
    at, out = 8, []
    for _ in range(count):
        lane, level, index, form, n = struct.unpack_from("<IIdII", content, at)
        at += 24
        size, layout = (16, "<HHIII") if form == 0 else (32, "<ddIIII")
        entries = [struct.unpack_from(layout, content, at + i * size) for i in range(n)]
        at += n * size
        out.append((lane, level, int(index), form, entries))
    assert at == len(content)
    return out


class StudioTest(CommandTest):
    def setUp(self):
        super().setUp()
        events = []
        for i in range(3000):
            events += [
                {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                 "ts": i * 10, "dur": 2, "args": {"correlation": i + 1}},
                {"ph": "X", "cat": "kernel", "name": f"void gemm_{i % 3}<float>(int)", "pid": 0, "tid": 7,
                 "ts": i * 10 + 3, "dur": 1 + i % 5,
                 "args": {"device": 0, "stream": 7, "correlation": i + 1}}]
        events.append({"ph": "X", "cat": "cpu_op", "name": "<img src=x onerror=alert(1)>\n\"", "pid": 1,
                       "tid": 1, "ts": 0, "dur": 100, "args": {}})
        with open(self.path("t.json"), "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "traceEvents": events}, file)

    def serve(self, *arguments):
        """The arguments of `studio`; without any, those for the trace of setUp()."""
        server = Server(self, *(arguments or ("t.json",)), cwd=self.dir)
        self.assertTrue(server.url, server.process.stderr)
        return server

    def sql(self, text):
        done = self.run_command("query", "t.json", text, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def lane(self, server, label):
        return next(lane for lane in server.json("/api/trace")["lanes"] if label in lane["label"])

    def test_numbers_are_those_of_sql_and_analyze(self):
        server = self.serve()
        rows = server.json("/api/query", {"sql": "SELECT name, sum(duration_ns) AS ns FROM kernel "
                                                 "GROUP BY name ORDER BY name", "limit": 10})
        expected = self.sql("SELECT name, sum(duration_ns) AS ns FROM kernel GROUP BY name ORDER BY name")
        self.assertEqual([dict(zip(("name", "ns"), row)) for row in rows["rows"]], expected)
        tables = server.json("/api/analysis?parts=kernels")["tables"]
        shown = json.loads(self.run_command("analyze", "t.json", "--kernels", "--json").stdout)
        keys = [column["key"] for column in tables[0]["columns"]]
        totals = [dict(zip(keys, row))["total_ns"] for row in tables[0]["rows"]]
        self.assertEqual(totals, [row["total_ns"] for row in shown["kernels"]])
        findings = json.loads(self.run_command("analyze", "t.json", "--findings", "--json").stdout)
        table = next(t for t in server.json("/api/findings")["tables"] if t["key"] == "findings")
        self.assertEqual([row[0] for row in table["rows"]], [row["rule"] for row in findings["findings"]])

    def test_tiles_of_every_level_say_the_same(self):
        server = self.serve()
        lane = self.lane(server, "stream 7")
        self.assertEqual(lane["items"], 3000)
        busy_ns = self.sql("SELECT sum(duration_ns) AS ns FROM kernel")[0]["ns"]
        for level in (5, 8, 12, 15, 18, 25):
            duration = server.json("/api/trace")["duration_ns"]
            keys = [[lane["id"], level, index] for index in range(int(duration >> level) // CELLS + 1)]
            tiles = []
            for at in range(0, len(keys), 512):
                body = {"generation": 1, "tiles": keys[at:at + 512]}
                tiles += tiles_of(server.ask("/api/tiles", body)[2])
            self.assertEqual([(t[0], t[1], t[2]) for t in tiles], [tuple(key) for key in keys])
            busy, items = 0.0, set()
            for _, _, index, form, entries in tiles:
                begin, end = index * CELLS << level, (index + 1) * CELLS << level
                if form == 0:
                    busy += sum(cell[0] / 65535 for cell in entries) * (1 << level)
                    items.update(range(len(items), len(items) + sum(cell[2] for cell in entries)))
                    continue
                for start, length, item, *_ in entries:
                    busy += min(end, start + length) - max(begin, start)
                    items.add(item)
            self.assertAlmostEqual(busy / busy_ns, 1, delta=0.01, msg=f"level {level}")
            if all(t[3] == 1 for t in tiles):
                self.assertEqual(items, set(range(3000)))
        tile, = tiles_of(server.ask("/api/tiles", {"tiles": [[lane["id"], 40, 0]]})[2])
        self.assertEqual([cell[2] for cell in tile[4] if cell[2]], [3000])

    def test_an_item_knows_its_launch_and_the_launch_its_work(self):
        server = self.serve()
        lane = self.lane(server, "stream 7")["id"]
        item = server.json(f"/api/item?lane={lane}&item=17")
        self.assertEqual((item["begin_ns"], item["duration_ns"]), (173000, 3000))
        link, before = item["links"]
        self.assertEqual((link["what"], link["short"]), ("launched by", "cudaLaunchKernel"))
        self.assertEqual((before["what"], before["lane"], before["item"]), ("follows in its stream", lane, 16))
        back, = server.json(f"/api/item?lane={link['lane']}&item={link['item']}")["links"]
        self.assertEqual((back["what"], back["lane"], back["item"]), ("launched", lane, 17))
        self.assertEqual(server.ask(f"/api/item?lane={lane}&item=3000")[0], 404)
        self.assertEqual(server.ask("/api/item?lane=x&item=1")[0], 400)

    def test_search_counts_all_and_lists_the_first(self):
        server = self.serve()
        found = server.json("/api/search?q=GEMM_1&limit=2")
        self.assertEqual((found["total"], len(found["hits"])), (1000, 2))
        self.assertEqual([hit["item"] for hit in found["hits"]], [1, 4])
        names = server.json("/api/names", {"ids": [found["hits"][0]["name"]]})["names"]
        self.assertEqual(next(iter(names.values()))["full"], "void gemm_1<float>(int)")
        self.assertEqual(server.json("/api/search?q=%3Cimg")["total"], 1)

    def test_nobody_else_gets_anything(self):
        server = self.serve()
        for target in ("/", "/api/trace", "/studio.js", "/api/findings"):
            self.assertEqual(server.ask(target, Cookie="")[0], 403, target)
        self.assertEqual(server.ask("/api/trace", Host="evil.example")[0], 403)
        self.assertEqual(server.ask("/api/trace", Origin="http://evil.example")[0], 403)
        self.assertEqual(server.ask("/api/query", {"sql": "SELECT 1", "limit": 1},
                                    Content_Type="text/plain")[0], 415)
        status, headers, _ = server.ask("/?token=" + server.token, Cookie="")
        self.assertEqual(status, 200)
        self.assertIn(server.cookie + "; HttpOnly; SameSite=Strict", headers["Set-Cookie"])
        for header in ("Content-Security-Policy", "X-Content-Type-Options", "Cache-Control"):
            self.assertIn(header, server.ask("/api/trace")[1])
        self.assertNotIn("Access-Control-Allow-Origin", server.ask("/api/trace")[1])

    def test_sql_only_reads(self):
        server = self.serve()
        for sql in ("DELETE FROM kernel", "ATTACH 'x.db' AS x", "nonsense", "SELECT nothing FROM kernel"):
            status, _, content = server.ask("/api/query", {"sql": sql, "limit": 1})
            self.assertEqual(status, 400, sql)
            self.assertTrue(json.loads(content)["error"])
        self.assertNotIn("x.db", self.files())
        result = server.json("/api/query", {"sql": "SELECT start_ns FROM kernel", "limit": 5})
        self.assertEqual((len(result["rows"]), result["more"]), (5, True))

    def test_what_is_no_request_is_refused(self):
        server = self.serve()
        self.assertEqual(server.ask("/api/nothing")[0], 404)
        self.assertEqual(server.ask("/../../etc/passwd")[0], 404)
        self.assertEqual(server.ask("/api/tiles", {"tiles": [[0]]})[0], 400)
        host, port = server.host.split(":")
        with socket.create_connection((host, int(port)), timeout=LIMIT_S) as connection:
            connection.sendall(b"POST /api/tiles HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n")
            self.assertIn(b" 413 ", connection.recv(100))
        for text in (b"nonsense\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\0" * 100, b"GET /" + b"a" * 100000):
            with socket.create_connection((host, int(port)), timeout=LIMIT_S) as connection:
                try:
                    connection.sendall(text)
                    connection.recv(1)
                except OSError:
                    pass
        self.assertEqual(server.json("/api/trace")["events"], 6001)

    def test_many_tabs_at_the_same_time(self):
        server = self.serve()
        lane = self.lane(server, "stream 7")["id"]
        failures = []

        def tab():
            try:
                for item in range(10):
                    server.json(f"/api/item?lane={lane}&item={item}")
                    server.json("/api/analysis?parts=idle")
                    server.json("/api/query", {"sql": "SELECT count(*) FROM kernel", "limit": 1})
            except Exception as error:  # pylint: disable=broad-except
                failures.append(error)

        tabs = [threading.Thread(target=tab) for _ in range(20)]
        for one in tabs:
            one.start()
        for one in tabs:
            one.join()
        self.assertEqual(failures, [])

    def test_a_query_of_a_closed_tab_ends(self):
        server = self.serve()
        endless = {"sql": "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
                   "limit": 1}
        tab = http.client.HTTPConnection(server.host, timeout=LIMIT_S)
        tab.request("POST", "/api/query", body=json.dumps(endless),
                    headers={"Cookie": server.cookie, "Content-Type": "application/json"})
        time.sleep(0.5)
        began = time.monotonic()
        tab.close()
        # It would keep the engine for a minute.
        rows = server.json("/api/query", {"sql": "SELECT count(*) FROM kernel", "limit": 1})["rows"]
        self.assertEqual(rows, [[3000]])
        self.assertLess(time.monotonic() - began, 30)

    def test_it_ends_when_told(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            code, out, err = self.serve().end(number)
            self.assertEqual((code, out), (0, ""))
            self.assertIn("showing t.json", err)
            self.assertNotIn("warning", err)

    def test_a_port_is_taken_by_one_server(self):
        first = self.serve()
        port = first.host.split(":")[1]
        second = self.run_command("studio", "t.json", "--no-browser", "--port", port)
        self.assert_fails(second, 1, "another program has this port", port)
        first.end()
        again = self.serve("t.json", "--port", port)
        self.assertEqual(again.json("/api/trace")["events"], 6001)

    def test_other_addresses_have_to_be_wanted(self):
        done = self.run_command("studio", "t.json", "--no-browser", "--bind", "0.0.0.0")
        self.assert_fails(done, 2, "--yes-expose", "unencrypted")
        self.assert_fails(self.run_command("studio", "t.json", "--bind", "nowhere", "--yes-expose"), 2,
                          "nowhere")
        server = self.serve("t.json", "--bind", "127.0.0.2", "--yes-expose")
        self.assertEqual(server.json("/api/trace")["events"], 6001)

    def test_plain_files_have_the_tiles_of_the_server(self):
        done = self.run_command("studio", "t.json", "--static", "site")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"wrote site", done.stderr)
        folder = self.path("site")
        with gzip.open(os.path.join(folder, "data", "answers.json.gz")) as file:
            answers = json.load(file)
        server = self.serve()
        for question in ("trace", "findings", "parts", "memory", "stacks?by=device&reversed=1&callers_of=",
                         "analysis?parts=kernels&limit=1000", "kernel?name=gemm_0%3Cf32%3E"):
            self.assertEqual(answers[question], server.json(f"/api/{question}"), question)
        seen = set()
        for name in os.listdir(os.path.join(folder, "data", "tiles")):
            with gzip.open(os.path.join(folder, "data", "tiles", name)) as file:
                content = file.read()
            keys = [tile[:3] for tile in tiles_of(content)]
            self.assertEqual(server.ask("/api/tiles", {"tiles": keys})[2], content)
            lane, level, number = map(int, name.removesuffix(".gz").split("_"))
            self.assertTrue(all(key[:2] == (lane, level) and key[2] // 64 == number for key in keys), name)
            seen.update((tile[0], span[2]) for tile in tiles_of(content) if tile[3] == 1 for span in tile[4])
        lane = self.lane(server, "stream 7")
        self.assertEqual(len([item for of, item in seen if of == lane["id"]]), 3000)
        self.assert_fails(self.run_command("studio", "t.json", "--static", "site"), 2, "site", "not empty")

    def test_damaged_and_empty_traces(self):
        self.run_command("import", "t.json", "-o", "t.sbt")
        with open(self.path("t.sbt"), "r+b") as file:
            file.truncate(os.path.getsize(self.path("t.sbt")) * 2 // 3)
        server = self.serve("t.sbt")
        self.assertFalse(server.json("/api/trace")["complete"])
        self.assertEqual(server.end()[0], 3)
        with open(self.path("empty.json"), "w", encoding="utf-8") as file:
            file.write('{"traceEvents": []}')
        self.run_command("import", "empty.json", "-o", "empty.sbt")
        empty = self.serve("empty.sbt")
        self.assertEqual(empty.json("/api/trace")["lanes"], [])
        self.assertTrue(empty.json("/api/findings")["tables"])
        self.assert_fails(self.run_command("studio", "nothing.sbt"), 1, "nothing.sbt")


if __name__ == "__main__":
    unittest.main()
