# SPDX-License-Identifier: Apache-2.0
"""How the GPUs are connected, beside what NVIDIA's own tool says."""
import json
import re
import shutil

from tools import Absent


def say_of(tools, *arguments):
    said = tools.run(["nvidia-smi", *arguments], codes=None)
    if said.code != 0:
        raise Absent(f"nvidia-smi {' '.join(arguments)}: {said.last_line()}")
    return said.out


def read(tools, *arguments):
    return json.loads(tools.run([tools.tracesmith, "topology", "--json", *arguments]).out)


def gpus_of(topology):
    return sorted((node for node in topology["nodes"] if node["kind"] == "gpu"), key=lambda node: node["number"])


def routes_of(topology):
    """{"0 to 1": [class, links]} by number."""
    number = {node["id"]: node["number"] for node in gpus_of(topology)}
    return {f"{number[path['from']]} to {number[path['to']]}": [path["class"], path["links"]]
            for path in topology["paths"] if path["from"] in number and path["to"] in number}


def links_of(text):
    """{GPU: [GB/s of a link, ...]} of `nvidia-smi nvlink -s`."""
    found, gpu = {}, None
    for line in text.splitlines():
        if match := re.match(r"GPU (\d+):", line):
            gpu = int(match[1])
            found[gpu] = []
        elif gpu is not None and (match := re.search(r"Link \d+: ([0-9.]+) GB/s", line)):
            found[gpu].append(float(match[1]))
    return found


def topology(tools, step):
    if shutil.which("nvidia-smi") is None:
        raise Absent("there is no nvidia-smi")
    here = read(tools)
    gpus = gpus_of(here)
    listed = [[part.strip() for part in line.split(",")] for line in
              say_of(tools, "--query-gpu=index,pci.bus_id,name", "--format=csv,noheader").splitlines()]
    step.equal("number, address and name of each GPU", [[str(node["number"]), node["pci"][-10:], node["name"]]
                                                        for node in gpus],
               [[index, address.lower()[-10:], name] for index, address, name in listed])
    step.value("what does not fit together", here["problems"])
    step.value("routes", sorted({path["class"] for path in here["paths"]}))
    step.value("connection of the first GPU", gpus[0].get("uplink") if gpus else None)
    stated = links_of(say_of(tools, "nvlink", "-s"))
    number = {node["id"]: node["number"] for node in gpus}
    counted = {node["number"]: 0 for node in gpus}
    rates = set()
    for link in here["links"]:
        for end in ("a", "b"):
            if link[end] in number:
                counted[number[link[end]]] += link["count"]
        if link["gbytes_per_s_ab"]:
            rates.add(link["gbytes_per_s_ab"] / link["count"])
    unknown = any("NVLinks lead is not known" in problem for problem in here["problems"])
    if unknown:
        step.absent("NVLinks of each GPU", "the driver does not say where they lead")
    else:
        step.equal("NVLinks of each GPU", counted, {gpu: len(stated.get(gpu, [])) for gpu in counted})
    step.value("GB/s of a link, nominal, and as nvidia-smi says", [sorted(rates), sorted(set(sum(stated.values(), [])))])
    matrix = tools.path("topo-m.txt")
    with open(matrix, "w", encoding="utf-8") as file:
        file.write(say_of(tools, "topo", "-m"))
    table = read(tools, "--from", matrix)
    step.equal("GPUs in the table of nvidia-smi topo -m", len(gpus_of(table)), len(gpus))
    if len(gpus) > 1 and not unknown:
        step.equal("routes between GPUs, as that table has them", routes_of(here), routes_of(table))


STEPS = (("topology", "How the GPUs are connected", 10, topology),)
