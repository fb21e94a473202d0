# SPDX-License-Identifier: Apache-2.0
"""What machine it is: device and driver, kernel and what it runs on, clocks, libraries; and the state
of the GPU. Everything is read, nothing is changed."""
import ctypes
import errno
import glob
import json
import mmap
import os
import platform
import re
import shutil
import subprocess

DMI = "/sys/class/dmi/id"
CLOCKSOURCE = "/sys/devices/system/clocksource/clocksource0"
MADV_WIPEONFORK = 18
GPU_FIELDS = ("index", "name", "driver_version", "pstate", "memory.total", "memory.used", "clocks.sm", "clocks.max.sm",
              "clocks.mem", "clocks.max.mem", "temperature.gpu", "power.draw", "power.limit", "persistence_mode",
              "mig.mode.current", "ecc.mode.current", "compute_mode", "utilization.gpu", "utilization.memory")
# Without importing them, which takes seconds; a module without a package is imported after all.
ASK_VERSIONS = """
import importlib, importlib.util, json, sys
try:
    from importlib.metadata import distributions
    known = {}
    for d in distributions():
        known[(d.metadata["Name"] or "").lower()] = d.version
except Exception:
    known = {}
found = {}
for name in sys.argv[1:]:
    version = known.get(name) or next((v for k, v in known.items() if k.startswith(name + "-cuda")), None)
    if version is None and importlib.util.find_spec(name) is not None:
        version = getattr(importlib.import_module(name), "__version__", "without a version")
    found[name] = version or "absent"
print(json.dumps(found))
"""


def output(*command):
    try:
        ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=30, check=False,
                             stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return None
    text = ran.stdout.decode("utf-8", "replace").strip()
    return text if ran.returncode == 0 and text else None


def first_line(*command):
    text = output(*command)
    return text.splitlines()[0].strip() if text else None


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip("\0\n ")
    except OSError:
        return None


def cuda_version(number):
    return f"{number // 1000}.{number % 1000 // 10}" if number else None


# --- Kernel and clocks ------------------------------------------------------------------------


def cpu_flags():
    found = re.search(r"^(?:flags|Features)\s*: (.*)$", read("/proc/cpuinfo") or "", re.M)
    return set(found[1].split()) if found else set()


def runtime():
    """On what the kernel runs, and what that is concluded from."""
    version, dmi = read("/proc/version") or "", {name: read(os.path.join(DMI, name)) for name in
                                                 ("sys_vendor", "product_name", "bios_vendor")}
    # Who built the kernel, and with what, is of no use to anyone.
    evidence = {"proc_version": re.sub(r" \(.*\)", "", version), "osrelease": read("/proc/sys/kernel/osrelease"),
                **{name: value for name, value in dmi.items() if value}}
    hypervisor = "hypervisor" in cpu_flags()
    about = " ".join(filter(None, (version, *dmi.values()))).lower()
    # gVisor says that it is Linux 4.4.0, built on one day of 2016.
    if "gvisor" in about or "Sun Jan 10 15:06:54 PST 2016" in version:
        kind = "gVisor"
    elif "firecracker" in about or (hypervisor and not any(dmi.values())
                                    and glob.glob("/sys/bus/platform/drivers/virtio-mmio/*virtio*")):
        kind = "Firecracker"
    elif hypervisor:
        kind = "virtual machine"
    else:
        kind = "bare metal, as far as can be seen"
    if kind != "gVisor" and any(os.path.exists(path) for path in ("/.dockerenv", "/run/.containerenv")):
        kind += ", in a container"
    return {"kind": kind, "hypervisor flag": hypervisor, **evidence}


def clocks():
    flags = cpu_flags()
    return {"source": read(os.path.join(CLOCKSOURCE, "current_clocksource")) or "not readable",
            "available": read(os.path.join(CLOCKSOURCE, "available_clocksource")) or "not readable",
            "constant_tsc": "constant_tsc" in flags, "nonstop_tsc": "nonstop_tsc" in flags}


def wipe_on_fork():
    """Whether memory that MADV_WIPEONFORK names is zero in a forked child."""
    page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    libc = ctypes.CDLL(None, use_errno=True)
    memory = ctypes.c_char.from_buffer(page)
    page[0] = 1
    if libc.madvise(ctypes.c_void_p(ctypes.addressof(memory)), ctypes.c_size_t(mmap.PAGESIZE), MADV_WIPEONFORK) != 0:
        return f"refused: {errno.errorcode.get(ctypes.get_errno(), ctypes.get_errno())}"
    child = os.fork()
    if child == 0:
        os._exit(page[0])  # pylint: disable=protected-access
    _, status = os.waitpid(child, 0)
    return "works" if status == 0 else "accepted, but the child sees what was there"


# --- Libraries and the GPU --------------------------------------------------------------------


def versions(python):
    said = output(python, "-c", ASK_VERSIONS, "torch", "triton", "cupy")
    found = json.loads(said.splitlines()[-1]) if said else {}
    return {name: found.get(name, "absent") for name in ("torch", "triton", "cupy")}


def compute_sanitizer():
    """Its path, or None."""
    homes = [os.environ.get("CUDA_HOME"), "/usr/local/cuda", *sorted(glob.glob("/usr/local/cuda-*"), reverse=True)]
    places = [os.path.join(home, below) for home in filter(None, homes) for below in ("bin", "compute-sanitizer")]
    return shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path=":".join(places))


def sanitizer_version():
    path = compute_sanitizer()
    said = output(path, "--version") if path else None
    found = re.search(r"[Vv]ersion (\S+)", said or "")
    return found[1] if found else ("absent" if path is None else "without a version")


def gpu_state():
    """Of each GPU what nvidia-smi says, and which processes use them."""
    if shutil.which("nvidia-smi") is None:
        return {"absent": "there is no nvidia-smi"}
    fields = list(GPU_FIELDS)
    said = output("nvidia-smi", "--query-gpu=" + ",".join(fields), "--format=csv,noheader")
    if said is None:  # it knows some of them only
        fields = [f for f in fields if output("nvidia-smi", f"--query-gpu={f}", "--format=csv,noheader")]
        said = output("nvidia-smi", "--query-gpu=" + ",".join(fields), "--format=csv,noheader") if fields else None
    if said is None:
        return {"absent": "nvidia-smi says nothing"}
    gpus = [dict(zip(fields, (value.strip() for value in line.split(", ")))) for line in said.splitlines()]
    others = output("nvidia-smi", "--query-compute-apps=pid,process_name,used_memory", "--format=csv,noheader")
    return {"gpus": gpus, "processes": others.splitlines() if others else []}


def describe(tools, did, samples_by):
    """`did` is what a sample said of its device."""
    model = re.search(r"^model name\s*: (.*)$", read("/proc/cpuinfo") or "", re.M)
    state = {"absent": "a stand-in has none"} if tools.stand_in else gpu_state()
    driver = state["gpus"][0].get("driver_version") if state.get("gpus") else None
    return {"device": did["device"], "compute": did["compute"], "driver": driver,
            "driver_cuda": cuda_version(did["driver"]), "runtime": cuda_version(did["runtime"]),
            "cpu": model[1] if model else platform.machine(), "cores": os.cpu_count(),
            "kernel": platform.release(), "runs_on": runtime(), "clocks": clocks(),
            "madv_wipeonfork": wipe_on_fork(), "libc": " ".join(platform.libc_ver()),
            "python": platform.python_version(), **versions(tools.python),
            "compute_sanitizer": sanitizer_version(), "tracesmith": first_line(tools.tracesmith, "version"),
            "samples_compiled_by": samples_by, "gpu_at_start": state}
