# SPDX-License-Identifier: Apache-2.0
"""Reads files of a machine's topology from their formats alone, to be compared with the command's answers.

Nothing here is shared with the command: routes are found by climbing the XML, not by a graph.
"""
import xml.etree.ElementTree as ElementTree

GPU_CLASSES = ("0x0300", "0x0302", "0x0380", "0x1200")


def address(text):
    """'0000:3B:00.0' and '3b:0.0' alike."""
    rest, function = text.rsplit(".", 1)
    parts = ["0", *rest.split(":")][-3:]
    return tuple(int(part, 16) for part in [*parts, function])


class Nccl:
    """gpus and nics: {address: element}; links: {(address, address): count}; route(): as NCCL names it."""

    def __init__(self, path):
        self.system = ElementTree.parse(path).getroot()
        self.parent = {child: parent for parent in self.system.iter() for child in parent}
        self.gpus, self.links = {}, {}
        for pci in self.system.iter("pci"):
            gpu = pci.find("gpu")
            if gpu is not None or (pci.get("class", "")[:6] in GPU_CLASSES and self.made_by_gpu_vendor(pci)):
                self.gpus[address(pci.get("busid"))] = pci
            for link in [] if gpu is None else [*gpu.findall("nvlink"), *gpu.findall("xgmi")]:
                pair = (address(pci.get("busid")), link.get("target"))
                self.links[pair] = self.links.get(pair, 0) + int(link.get("count"))
        self.nets = [net for net in self.system.iter("net")]

    @staticmethod
    def made_by_gpu_vendor(pci):
        return pci.get("vendor") in (None, "0x10de", "0x1002")

    def above(self, element):
        """The addresses of the bridges above an element, the nearest first; then its processor."""
        bridges = []
        while self.parent[element].tag == "pci":
            element = self.parent[element]
            bridges.append(element.get("busid"))
        processor = self.parent[element]
        return bridges, processor if processor.tag == "cpu" else None

    def route(self, a, b):
        """By PCIe alone, between two <pci>."""
        (bridges_of_a, cpu_of_a), (bridges_of_b, cpu_of_b) = self.above(a), self.above(b)
        if cpu_of_a is not cpu_of_b:
            return "SYS"
        common = [bridge for bridge in bridges_of_a if bridge in bridges_of_b]
        if not common:
            return "PHB"
        passed = bridges_of_a.index(common[0]) + bridges_of_b.index(common[0]) + 1
        return "PIX" if passed == 1 else "PXB"


class Hwloc:
    """gpus: {address: element}; bandwidth: {(id, id): MB/s}, by ids of objects, those of GPUs' drivers included."""

    def __init__(self, path):
        self.topology = ElementTree.parse(path).getroot()
        self.parent = {child: parent for parent in self.topology.iter() for child in parent}
        objects = list(self.topology.iter("object"))
        self.by_id = {thing.get("gp_index"): thing for thing in objects}
        self.gpus = {address(thing.get("pci_busid")): thing for thing in objects
                     if thing.get("type") == "PCIDev" and "0x" + thing.get("pci_type")[:4] in GPU_CLASSES
                     and thing.get("pci_type")[6:10] in ("10de", "1002")}
        self.bandwidth = {}
        for table in self.topology:
            if table.tag.startswith("distances2") and table.get("name") == "NVLinkBandwidth":
                ids = " ".join(each.text for each in table.findall("indexes")).split()
                values = [int(value) for each in table.findall("u64values") for value in each.text.split()]
                names = [each.split(":")[-1] for each in ids]
                for place, value in enumerate(values):
                    if value:
                        self.bandwidth[names[place // len(names)], names[place % len(names)]] = value

    def place(self, identity):
        """Of an object, such as "nvml0" or a processor: the address of its PCI device or the number of its NUMA node;
        None if it is not in the file."""
        thing = self.by_id.get(identity)
        while thing is not None and thing.get("type") == "OSDev":
            thing = self.parent[thing]
        if thing is None or thing.get("pci_busid"):
            return thing if thing is None else address(thing.get("pci_busid"))
        return int(thing.find("object[@type='NUMANode']").get("os_index"))
