"""Facts about the machine a record was made on. Linux and macOS, standard library only."""

import hashlib
import json
import os
import platform
import time

from measurement import devices
from measurement.system import output, read


def _flatten(entries, facts):
    for entry in entries:
        facts[entry["field"].rstrip(":")] = entry["data"]
        _flatten(entry.get("children", []), facts)


def _sysctl(name):
    return output("sysctl", "-n", name)


def lscpu():
    """The fields of `lscpu` by name (the documents print them); on macOS the few sysctl gives."""
    listing = output("lscpu", "--json")
    if listing:
        facts = {}
        _flatten(json.loads(listing)["lscpu"], facts)
        return facts
    facts = {
        "Architecture": platform.machine(),
        "Model name": _sysctl("machdep.cpu.brand_string"),
        "CPU(s)": _sysctl("hw.logicalcpu"),
        "Core(s) per socket": _sysctl("hw.physicalcpu"),
    }
    return {name: value for name, value in facts.items() if value}


def _cpuinfo(*names):
    """The first value of a field of /proc/cpuinfo; empty where there is none."""
    for line in (read("/proc/cpuinfo") or "").splitlines():
        if line.partition(":")[0].strip() in names:
            return line.partition(":")[2].strip()
    return ""


def cpu_flags():
    """What the CPU can do, as the system lists it, one text; empty where it does not."""
    return _cpuinfo("flags", "Features")


def vendor():
    """The CPU's, `GenuineIntel` or `AuthenticAMD` for most; empty where the system does not say."""
    return _cpuinfo("vendor_id")


def memory_bytes():
    """Physical memory in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def usable_cores():
    """Physical cores this process may use: hyper-threads share one set of vector units, and a control group's
    quota of CPU time is shared by all threads."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    per_core = lscpu().get("Thread(s) per core", "1")
    cores = usable // max(1, int(per_core) if per_core.isdigit() else 1)
    return max(1, min(cores, int(quota() or cores)))


def allowed_cores():
    """How many CPUs this process may use; None where the system does not tell."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None


def asleep_seconds():
    """How long the machine has been suspended since boot; 0.0 where it does not tell."""
    try:
        return time.clock_gettime(7) - time.clock_gettime(time.CLOCK_MONOTONIC)  # 7: CLOCK_BOOTTIME
    except OSError:
        return 0.0


def quota():
    """CPUs' worth of time that the process's control groups give it; None where they set no limit."""
    found, groups = [], read("/proc/self/cgroup") or ""
    for line in groups.splitlines():
        _, controllers, path = line.split(":", 2)
        while True:  # a limit of a group above holds too
            folder = path.rstrip("/")
            if not controllers:
                limit = (read("/sys/fs/cgroup%s/cpu.max" % folder) or "max").split()
            elif "cpu" in controllers.split(","):
                own = "/sys/fs/cgroup/cpu%s/cpu.cfs_" % folder
                limit = [read(own + "quota_us") or "-1", read(own + "period_us") or "0"]
            else:
                break
            if len(limit) == 2 and limit[0] not in ("max", "-1") and int(limit[1]):
                found.append(int(limit[0]) / float(limit[1]))
            if not folder:
                break
            path = os.path.dirname(folder)
    return min(found) if found else None


def chosen(path):
    """The word in brackets of a setting of the system, such as `madvise` of `always [madvise] never`."""
    text = read(path) or ""
    return text.partition("[")[2].partition("]")[0] or None


def _system():
    release = read("/etc/os-release") or ""
    for line in release.splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip('"')
    return "%s %s" % (platform.system(), platform.release())


def boot():
    """Names this run of the kernel, which containers share; None where the system does not."""
    return read("/proc/sys/kernel/random/boot_id") or _sysctl("kern.bootsessionuuid")


def node():
    """A name for this machine since it was started, of which a network's folder may have several."""
    return "%s-%s" % (platform.node() or "machine", (boot() or "")[:8])


def facts():
    """Everything a reader needs to judge a number. `machine` is a short identity made of hardware
    facts, never of a host name."""
    found = {
        "cpu": lscpu(),
        "cores": usable_cores(),
        "cpu_quota": quota(),
        "memory_bytes": memory_bytes(),
        "gpus": devices.gpus(),
        "system": _system(),
        "kernel": platform.release(),
        "governor": read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "transparent_huge_pages": chosen("/sys/kernel/mm/transparent_hugepage/enabled"),
    }
    found["machine"] = "%s-%dc-%s" % (platform.machine(), found["cores"], digest(found))
    return found


def digest(found):
    """What ends a machine's name: of the hardware among its facts."""
    cpu = found["cpu"]
    hardware = [cpu.get("Model name"), cpu.get("Flags"), found["cores"]]
    hardware += [found["memory_bytes"] >> 30] + [gpu["name"] for gpu in found["gpus"]]
    return hashlib.sha256(json.dumps(hardware).encode()).hexdigest()[:6]


def cpu_seconds():
    """{"busy", "steal"}: seconds all CPUs of the machine have spent since boot; None off Linux."""
    line = (read("/proc/stat") or "").splitlines()[:1]
    if not line:
        return None
    ticks = [int(field) for field in line[0].split()[1:9]]
    user, nice, system, _idle, _iowait, irq, softirq, steal = ticks
    unit = float(os.sysconf("SC_CLK_TCK"))
    return {"busy": (user + nice + system + irq + softirq) / unit, "steal": steal / unit}


def out_of_memory_kills():
    """How often the kernel has killed a process for want of memory; None where it does not say."""
    for line in (read("/proc/vmstat") or "").splitlines():
        if line.startswith("oom_kill "):
            return int(line.split()[1])
    return None
