"""Facts about the machine a record was made on. Linux and macOS, standard library only."""

import glob
import hashlib
import json
import os
import platform
import signal
import subprocess
import threading
import time


def _output(*command):
    """What a command prints, or None if it is not there or fails."""
    try:
        return subprocess.check_output(
            command, stderr=subprocess.DEVNULL, universal_newlines=True, timeout=20
        ).strip()
    except (OSError, subprocess.SubprocessError):
        return None


def _read(path):
    try:
        with open(path) as stream:
            return stream.read().strip()
    except OSError:
        return None


def _flatten(entries, facts):
    for entry in entries:
        facts[entry["field"].rstrip(":")] = entry["data"]
        _flatten(entry.get("children", []), facts)


def _sysctl(name):
    return _output("sysctl", "-n", name)


def lscpu():
    """The fields of `lscpu` by name (the documents print them); on macOS the few sysctl gives."""
    listing = _output("lscpu", "--json")
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
    for line in (_read("/proc/cpuinfo") or "").splitlines():
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
    found, groups = [], _read("/proc/self/cgroup") or ""
    for line in groups.splitlines():
        _, controllers, path = line.split(":", 2)
        while True:  # a limit of a group above holds too
            folder = path.rstrip("/")
            if not controllers:
                limit = (_read("/sys/fs/cgroup%s/cpu.max" % folder) or "max").split()
            elif "cpu" in controllers.split(","):
                own = "/sys/fs/cgroup/cpu%s/cpu.cfs_" % folder
                limit = [_read(own + "quota_us") or "-1", _read(own + "period_us") or "0"]
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
    text = _read(path) or ""
    return text.partition("[")[2].partition("]")[0] or None


def gpus():
    """[{"name", "driver", "memory"}], one entry an NVIDIA GPU; [] where there is none."""
    listing = _output(
        "nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"
    )
    return [
        dict(zip(("name", "driver", "memory"), (part.strip() for part in line.split(","))))
        for line in (listing or "").splitlines()
        if line.count(",") == 2
    ]


def _system():
    release = _read("/etc/os-release") or ""
    for line in release.splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip('"')
    return "%s %s" % (platform.system(), platform.release())


def boot():
    """Names this run of the kernel, which containers share; None where the system does not."""
    return _read("/proc/sys/kernel/random/boot_id") or _sysctl("kern.bootsessionuuid")


def node():
    """A name for this machine since it was started, of which a network's folder may have several."""
    return "%s-%s" % (platform.node() or "machine", (boot() or "")[:8])


def facts():
    """Everything a reader needs to judge a number. `machine` is a short identity made of hardware
    facts, never of a host name."""
    cpu = lscpu()
    found = {
        "cpu": cpu,
        "cores": usable_cores(),
        "cpu_quota": quota(),
        "memory_bytes": memory_bytes(),
        "gpus": gpus(),
        "system": _system(),
        "kernel": platform.release(),
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "transparent_huge_pages": chosen("/sys/kernel/mm/transparent_hugepage/enabled"),
    }
    hardware = [cpu.get("Model name"), cpu.get("Flags"), found["cores"]]
    hardware += [found["memory_bytes"] >> 30] + [gpu["name"] for gpu in found["gpus"]]
    digest = hashlib.sha256(json.dumps(hardware).encode()).hexdigest()
    found["machine"] = "%s-%dc-%s" % (platform.machine(), found["cores"], digest[:6])
    return found


def cpu_seconds():
    """{"busy", "steal"}: seconds all CPUs of the machine have spent since boot; None off Linux."""
    line = (_read("/proc/stat") or "").splitlines()[:1]
    if not line:
        return None
    ticks = [int(field) for field in line[0].split()[1:9]]
    user, nice, system, _idle, _iowait, irq, softirq, steal = ticks
    unit = float(os.sysconf("SC_CLK_TCK"))
    return {"busy": (user + nice + system + irq + softirq) / unit, "steal": steal / unit}


def _integers(pattern):
    """The numbers in the files of a pattern, one each; [] where there is none."""
    return _integers_of(filter(None, map(_read, glob.glob(pattern))))


def frequency():
    """{"mhz": clock of the fastest CPU at this moment, "throttled": how often CPUs were slowed down for heat
    since boot}; None for what the system does not say. Read it while the cores are busy: an idle one is slow."""
    cpus = "/sys/devices/system/cpu/cpu[0-9]*/"
    mhz = [khz / 1e3 for khz in _integers(cpus + "cpufreq/scaling_cur_freq")]
    if not mhz:  # no cpufreq driver, as on most virtual machines
        lines = (_read("/proc/cpuinfo") or "").splitlines()
        mhz = [float(line.partition(":")[2]) for line in lines if line.startswith("cpu MHz")]
    throttled = _integers(cpus + "thermal_throttle/core_throttle_count")
    return {"mhz": max(mhz) if mhz else None, "throttled": sum(throttled) if throttled else None}


# What nvidia-smi is asked of the GPU that is measured, and what a reading calls it.
GPU_FIELDS = (
    ("name", "name"),
    ("sm_mhz", "clocks.sm"),
    ("memory_mhz", "clocks.mem"),
    ("most_sm_mhz", "clocks.max.sm"),
    ("temperature_c", "temperature.gpu"),
    ("power_w", "power.draw"),
    ("power_limit_w", "power.limit"),
    ("utilisation_percent", "utilization.gpu"),
    ("memory_used_mib", "memory.used"),
)
# Bits of the mask of reasons for which a clock is lower than it could be (nvml.h, nvmlClocksEventReason...).
CLOCK_REASONS = (
    (0x01, "idle"),
    (0x02, "application clocks"),
    (0x04, "power cap"),
    (0x08, "hardware slowdown"),
    (0x10, "sync boost"),
    (0x20, "thermal slowdown"),
    (0x40, "hardware thermal slowdown"),
    (0x80, "power brake"),
    (0x100, "display clocks"),
)


def visible_gpus(count):
    """Environment variables that leave a process `count` GPUs: the first of CUDA_VISIBLE_DEVICES, which a cluster's
    scheduler sets, or of the machine; counted as nvidia-smi counts them. Fewer, where there are fewer."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(count))))
    visible = ",".join(name.strip() for name in named.split(",")[:count])
    return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": visible}


def adopt():
    """Linux: what this process has started stays below it, whatever becomes of those between. Elsewhere nothing."""
    _prctl(36, 1)  # PR_SET_CHILD_SUBREAPER


def die_with_parent(parent=None):
    """Linux: this process must not outlive the one that started it, and disturb the next cell. Elsewhere nothing.

    parent: the id of that one, where it may have ended before this process got here."""
    _prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if parent not in (None, os.getppid()):
        os._exit(1)


def _prctl(option, value):
    try:
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
    except (OSError, AttributeError):
        pass


def alive(pid):
    """Whether a process is there."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def stopped(pid):
    """Whether a process was stopped (SIGSTOP) and did not go on yet; False where the system does not tell."""
    return _process_fields(pid)[0] in ("T", "t")


def descendants(pid):
    """Ids of all processes below another one that run still; [] where the system does not tell."""
    parents, found, queue = {}, [], [pid]
    for each in _integers_of(os.listdir("/proc") if os.path.isdir("/proc") else []):
        state, parent = _process_fields(each)[:2]
        if state != "Z":
            parents.setdefault(int(parent), []).append(each)
    while queue:
        below = parents.get(queue.pop(), [])
        found += below
        queue += below
    return found


def end_descendants(pid):
    """End all processes below another one, also those that ignore being asked to and those that they start meanwhile."""
    for _ in range(100):
        below = descendants(pid)
        if not below:
            return
        for each in below:
            try:
                os.kill(each, signal.SIGKILL)
            except OSError:
                continue
        time.sleep(0.01)


def end_with(parent):
    """From now on, this process and all below it end when another one does."""

    def watch():
        while alive(parent):
            time.sleep(1)
        end_descendants(os.getpid())
        os.kill(os.getpid(), signal.SIGKILL)

    thread = threading.Thread(target=watch)
    thread.daemon = True
    thread.start()


def _integers_of(texts):
    return [int(text) for text in texts if text.isdigit()]


def _process_fields(pid):
    """The numbers in /proc/<pid>/stat from the third on, as texts; zeros where the system does not tell."""
    return (_read("/proc/%d/stat" % pid) or "").rpartition(")")[2].split() or ["0"] * 13


def process_cpu_seconds(pid):
    """CPU time of another process so far; 0.0 where the system does not tell."""
    return sum(map(int, _process_fields(pid)[11:13])) / os.sysconf("SC_CLK_TCK")


def process_faults(pid):
    """Page faults without input or output of another process so far; 0 where the system does not tell."""
    return int(_process_fields(pid)[7])


def process_peak_bytes(pid):
    """Peak resident memory of another process; 0 where the system does not tell."""
    try:
        with open("/proc/%d/status" % pid) as stream:
            lines = dict(line.split(":", 1) for line in stream)
    except OSError:
        return 0
    return 1024 * int(lines["VmHWM"].split()[0]) if "VmHWM" in lines else 0


def _number(text):
    """A field of nvidia-smi; None for `[N/A]`, `[Not Supported]`, `[Unknown Error]` and the like."""
    try:
        return float(text)
    except ValueError:
        return None


def gpu_state(gpu):
    """One GPU at this moment, `gpu` as `nvidia-smi -i` takes it: the names of GPU_FIELDS, and `held_back_by`, why its
    clock is not higher (names of CLOCK_REASONS). None for what the GPU does not say, and for all of it without
    nvidia-smi. Utilisation is that of the last second or less: read it when work ends."""
    listing = None
    for reasons in (
        "clocks_event_reasons",
        "clocks_throttle_reasons",
    ):  # since driver 535, and before
        query = ",".join([field for _, field in GPU_FIELDS] + [reasons + ".active"])
        listing = listing or _output(
            "nvidia-smi", "-i", gpu, "--query-gpu=" + query, "--format=csv,noheader,nounits"
        )
    fields = [field.strip() for field in (listing or "").split("\n")[0].split(",")]
    if len(fields) != len(GPU_FIELDS) + 1:
        return None
    found = {name: _number(text) for (name, _), text in zip(GPU_FIELDS, fields)}
    found["name"] = fields[0]
    try:
        mask = int(fields[-1], 16)
        found["held_back_by"] = [name for bit, name in CLOCK_REASONS if mask & bit]
    except ValueError:
        found["held_back_by"] = None
    return found


def out_of_memory_kills():
    """How often the kernel has killed a process for want of memory; None where it does not say."""
    for line in (_read("/proc/vmstat") or "").splitlines():
        if line.startswith("oom_kill "):
            return int(line.split()[1])
    return None
