# SPDX-License-Identifier: Apache-2.0
"""`topology`: files of real machines, read here and by a reader that was written from the formats alone."""
import glob
import json
import os
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree

from harness import CommandTest
from topology_reader import Hwloc, Nccl, address

DATA = os.path.join(os.environ.get("TRACESMITH_TEST_DATA", ""), "topo")
RATE_OF_LINK = {"xGMI": {"gfx906": 46, "gfx908": 46, "gfx910": 50, "gfx940": 64, "gfx942": 64}}
LANE = {"2.5": 0.25, "5": 0.5, "8": 8 * 128 / 130 / 8, "16": 16 * 128 / 130 / 8, "32": 32 * 128 / 130 / 8}


def files(outermost):
    """Those of the folder whose outermost element has that name."""
    found = []
    for path in sorted(glob.glob(os.path.join(DATA, "*", "*.xml"))):
        if ElementTree.parse(path).getroot().tag == outermost:
            found.append(path)
    return found


class Read:
    """What the command says of a file, by PCI address."""

    def __init__(self, test, path):
        result = test.run_command("topology", "--json", "--from", path)
        test.assertEqual(result.returncode, 0, result.stderr)
        self.said = json.loads(result.stdout)
        self.nodes = self.said["nodes"]
        self.gpus = {address(node["pci"]): node for node in self.nodes if node["kind"] == "gpu"}
        self.nics = [node for node in self.nodes if node["kind"] == "nic"]
        self.paths = {(path["from"], path["to"]): path for path in self.said["paths"]}

    def links(self):
        """{(id, id): count}, both ways."""
        found = {}
        for link in self.said["links"]:
            found[link["a"], link["b"]] = found[link["b"], link["a"]] = link["count"]
        return found


@unittest.skipUnless(os.path.isdir(DATA), "TRACESMITH_TEST_DATA has no folder 'topo'")
class RealMachines(CommandTest):
    def test_every_file_of_nccl_and_rccl(self):
        paths = files("system")
        self.assertGreater(len(paths), 60)
        pairs = 0
        for path in paths:
            with self.subTest(file=os.path.basename(path)):
                pairs += self.compare_nccl(Nccl(path), Read(self, path))
        self.assertGreater(pairs, 2000)

    def compare_nccl(self, there, here):
        self.assertEqual(set(here.gpus), set(there.gpus))
        named = {net.get("name") for net in there.nets}
        self.assertEqual(named, {name for node in here.nics for name in node["name"].split(", ")} - {""})
        links = here.links()
        for at, element in there.gpus.items():
            node = here.gpus[at]
            gpu = element.find("gpu")
            if gpu is not None:
                self.assertEqual(node["number"], int(gpu.get("dev")))
            processor = there.above(element)[1]
            numa = int(processor.get("numaid"))
            self.assertEqual(node["numa"], numa if numa >= 0 else None)
            self.compare_rate(element, node["uplink"]["gbytes_per_s"])
        for (at, target), count in there.links.items():
            if address(target) == at:  # as in some virtual machines
                self.assertTrue(any("is the GPU itself" in problem for problem in here.said["problems"]))
                continue
            a, b = here.gpus[at]["id"], here.gpus[address(target)]["id"]
            self.assertEqual(links[a, b], count)
            self.assertEqual(there.links[address(target), self.written(there, at)], count, "both ends agree")
            self.assertEqual((here.paths[a, b]["class"], here.paths[a, b]["links"]), ("direct", count))
            processor = here.gpus[at]["name"]
            self.assertEqual(here.paths[a, b]["gbytes_per_s"], count * RATE_OF_LINK["xGMI"][processor])
        pairs = 0
        for a, of_a in there.gpus.items():
            for b, of_b in there.gpus.items():
                ends = here.gpus[a]["id"], here.gpus[b]["id"]
                if a == b or ends in links:
                    continue
                self.assertEqual(here.paths[ends]["class"], there.route(of_a, of_b), f"{a} {b}")
                pairs += 1
        for net in there.nets:
            pci = there.parent[there.parent[net]]
            if pci.tag == "pci" and pci.get("class", "").startswith("0x02"):
                nic = [node for node in here.nics if node["pci"] and address(node["pci"]) == address(pci.get("busid"))]
                self.assertGreaterEqual(len(nic), 1)
                for at, element in there.gpus.items():
                    said = {here.paths[here.gpus[at]["id"], node["id"]]["class"] for node in nic}
                    self.assertIn(there.route(element, pci), said)
                    pairs += 1
        return pairs + len(there.links)

    @staticmethod
    def written(there, at):
        return there.gpus[at].get("busid")

    def compare_rate(self, element, said):
        speed, width = element.get("link_speed", ""), int(element.get("link_width") or 0)
        lane = LANE.get(speed.split(" ")[0].removesuffix(".0")) if speed else None
        if lane and width:
            self.assertAlmostEqual(said, lane * width, places=9)
        else:
            self.assertIsNone(said)

    def test_every_file_of_hwloc(self):
        paths = files("topology")
        self.assertGreaterEqual(len(paths), 7)
        for path in paths:
            with self.subTest(file=os.path.basename(path)):
                there, here = Hwloc(path), Read(self, path)
                self.assertEqual(set(here.gpus), set(there.gpus))
                self.compare_bandwidths(there, here)

    def compare_bandwidths(self, there, here):
        """Of all pairs of which the file has both."""
        rates = {}
        for link in here.said["links"]:
            rates[link["a"], link["b"]] = link["gbytes_per_s_ab"]
            rates[link["b"], link["a"]] = link["gbytes_per_s_ba"]
        by_place = {address(node["pci"]): node["id"] for node in here.nodes if node["pci"]}
        by_place.update({node["number"]: node["id"] for node in here.nodes if node["kind"] == "numa"})
        expected = {}
        for (a, b), megabytes in there.bandwidth.items():
            if a != b:
                expected[by_place[there.place(a)], by_place[there.place(b)]] = megabytes / 1000
        self.assertEqual(rates, expected)

    def test_copies_of_sys(self):
        """hwloc's archives: what the kernel had in /sys of a POWER9 with six GPUs, without links to its bridges."""
        subprocess.run(["tar", "-C", self.dir, "-xf", os.path.join(DATA, "hwloc", "nvidiagpunumanodes.tar.bz2")],
                       check=True)
        here = Read(self, self.path("nvidiagpunumanodes"))
        numa = {node["pci"]: node["numa"] for node in here.nodes if node["kind"] == "gpu"}
        self.assertEqual(numa, {"0004:05:00.0": 0, "0004:06:00.0": 0, "0006:00:00.0": 0,
                                "0007:00:00.0": 8, "0035:04:00.0": 8, "0035:05:00.0": 8})

    def test_graphs_of_nccl(self):
        (path,) = files("graphs")
        (first, *_), = [Read(self, path).said["graphs"]]
        self.assertEqual((first["pattern"], first["gbytes_per_s_intra"], first["type_intra"]), ("ring", 12, "SYS"))
        self.assertEqual(first["channels"], [[0, 1, 2, 3], [0, 3, 2, 1]])

    def test_drawings_are_well_formed(self):
        path = os.path.join(DATA, "hwloc", "nvidiaDGX2.xml")
        svg = self.run_command("topology", "--svg", "--from", path).stdout.decode()
        boxes = ElementTree.fromstring(svg).findall("{http://www.w3.org/2000/svg}g")
        self.assertEqual(len(boxes), 16 + 12 + 12 + 2)  # GPUs, NVSwitches, PCIe switches above GPUs, processors
        dot = self.run_command("topology", "--dot", "--from", path).stdout.decode()
        self.assertEqual(dot.count("NVLink"), 16 * 6)


class Answers(CommandTest):
    def test_this_system(self):
        result = self.run_command("topology")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"from the kernel (sysfs)", result.stdout)

    def test_a_trace_has_the_topology_of_its_system(self):
        for name in ("a.sbt", "b.sbt"):
            self.assertEqual(self.run_command("profile", "-q", "-o", name, "--", "true").returncode, 0)
        now = json.loads(self.run_command("topology", "--json").stdout)
        stored = json.loads(self.run_command("topology", "--json", "--from", "a.sbt").stdout)
        self.assertEqual(stored, now)
        rows = json.loads(self.run_command("query", "a.sbt", "--json", "SELECT n.kind, p.kind AS parent FROM "
                                           "topology_node n LEFT JOIN topology_node p ON p.id = n.parent_id").stdout)
        self.assertEqual([row["kind"] for row in rows], [node["kind"] for node in now["nodes"]])
        self.assertEqual((rows[0]["kind"], rows[0]["parent"]), ("machine", None))
        # Two ranks of one host have one topology.
        merged = self.run_command("merge", "a.sbt", "b.sbt", "-o", "job.sbt")
        self.assertEqual(merged.returncode, 0, merged.stderr)
        one = self.run_command("topology", "--from", "a.sbt").stdout.decode()
        both = self.run_command("topology", "--from", "job.sbt").stdout.decode()
        self.assertEqual(both, f"ranks 0-1 on {os.uname().nodename}\n{one}")
        of_rank = self.run_command("topology", "--from", "job.sbt", "--rank", "1").stdout.decode()
        self.assertEqual(of_rank, one)
        self.assert_fails(self.run_command("topology", "--from", "job.sbt", "--rank", "7"), 2, "no rank 7")

    def test_a_trace_that_is_cut_is_read_as_far_as_it_goes(self):
        self.assertEqual(self.run_command("profile", "-q", "-o", "a.sbt", "--", "true").returncode, 0)
        with open(self.path("a.sbt"), "rb") as file:
            data = file.read()
        whole = self.run_command("topology", "--from", "a.sbt").stdout
        codes = set()
        for length in (0, 7, 8, 63, 64, len(data) // 2, len(data) - 1):
            with open(self.path("cut.sbt"), "wb") as file:
                file.write(data[:length])
            result = self.run_command("topology", "--from", "cut.sbt")
            self.assertNotEqual(result.stderr, b"")
            self.assertIn(result.returncode, (1, 2, 3))
            if result.stdout:
                self.assertEqual((result.returncode, result.stdout), (3, whole))
            codes.add(result.returncode)
        self.assertIn(3, codes)

    def test_a_trace_without_a_topology_says_so(self):
        with open(self.path("a.json"), "w", encoding="utf-8") as file:
            file.write('[{"name": "a", "ph": "X", "ts": 1, "dur": 2, "pid": 1, "tid": 1}]')
        self.assertEqual(self.run_command("import", "a.json", "-o", "a.sbt").returncode, 0)
        self.assert_fails(self.run_command("topology", "--from", "a.sbt"), 1, "has no topology: it was imported")
        self.assert_fails(self.run_command("topology", "--rank", "1"), 2, "--rank is for a trace")

    def test_what_is_no_topology_is_refused(self):
        with open(self.path("a.xml"), "w", encoding="utf-8") as file:
            file.write("<system version='1'><cpu>")
        for wrong, why in (("a.xml", "is not a whole XML file: line 1"), ("nowhere", "no such file or folder"),
                           (".", "has no folder 'sys'")):
            result = self.run_command("topology", "--from", wrong)
            self.assertEqual(result.stdout, b"")
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(why, result.stderr.decode())

    def test_one_form_at_a_time(self):
        self.assertEqual(self.run_command("topology", "--json", "--svg").returncode, 2)

    def test_names_in_a_file_cannot_control_the_terminal(self):
        with open(self.path("a.xml"), "w", encoding="utf-8") as file:
            file.write('<system version="1"><cpu numaid="0"><nic><net name="&lt;b&gt;\x7f&#x9b;31m" dev="0"/></nic>'
                       "</cpu></system>")
        with open(self.path("graphs.xml"), "w", encoding="utf-8") as file:
            file.write('<graphs version="1"><graph id="0" pattern="&#x9b;31m" typeintra="&#x9b;31m"/></graphs>')
        for name in ("a.xml", "graphs.xml"):
            for form in ((), ("--svg",), ("--dot",)):
                said = self.run_command("topology", "--from", name, *form).stdout
                self.assertNotEqual(said, b"")
                self.assertNotIn(b"\x7f", said)
                self.assertNotIn(b"\xc2\x9b", said)
        self.assertNotIn(b"<b>", self.run_command("topology", "--from", "a.xml", "--svg").stdout)


if __name__ == "__main__":
    unittest.main()
