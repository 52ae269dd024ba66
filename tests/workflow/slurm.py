"""A SLURM cluster of two nodes on this machine, of Debian's munge, slurmctld and slurmd.

A process of it lives in namespaces of its own: /etc/slurm is a folder made for the test, whatever the machine
has there; a node has a host name; and all that runs on a node dies with its daemon, as when power fails.
"""

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
ETC = Path("/etc/slurm")
NODES = ("n1", "n2")
GPU_NODE = "n2"
CPUS = 4  # whatever this machine has: without --exclusive, two jobs of two fit
CONFIGURATION = """\
ClusterName=loopback
SlurmctldHost=controller(127.0.0.1)
SlurmctldPort={controller_port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=2
SlurmdTimeout=6
ReturnToService=2
JobRequeue=1
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/jobs.txt
GresTypes=gpu
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE
"""
NODE = "NodeName={name} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} RealMemory=4000 Feature=loopback"


def why_not() -> str:
    """Why a cluster cannot be started here, or nothing."""
    missing = [name for name in ("slurmctld", "slurmd", "munged", "unshare") if not which(name)]
    if missing:
        return f"{', '.join(missing)}: not installed (apt-get install slurm-wlm munge)"
    if os.geteuid() != 0:
        return "SLURM's daemons and namespaces need root"
    probe = subprocess.run(
        ["unshare", "--mount", "--uts", "--pid", "--fork", "true"], capture_output=True
    )
    return f"no namespaces: {probe.stderr.decode().strip()}" if probe.returncode else ""


def which(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@dataclass
class Cluster:
    """Daemons whose files lie in `folder`; its path has to be short, as it holds a socket."""

    folder: Path
    daemons: dict[str, subprocess.Popen] = field(default_factory=dict)

    def __enter__(self) -> "Cluster":
        (self.folder / "etc").mkdir()
        (self.folder / "state").mkdir()
        ETC.mkdir(exist_ok=True)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        lines = [CONFIGURATION.format(folder=self.folder, controller_port=free_port())]
        for name in NODES:
            gpu = " Gres=gpu:1" if name == GPU_NODE else ""
            lines.append(NODE.format(name=name, port=free_port(), cpus=CPUS) + gpu + "\n")
        (self.folder / "etc/slurm.conf").write_text("".join(lines))
        # A device that is always there stands for the GPU.
        (self.folder / "etc/gres.conf").write_text(f"NodeName={GPU_NODE} Name=gpu File=/dev/null\n")
        options = ["--socket", "--pid-file", "--log-file", "--seed-file"]
        files = [self.folder / f"munge.{option.split('-')[2]}" for option in options]
        pairs = [str(part) for pair in zip(options, files, strict=True) for part in pair]
        self.start("munge", ["munged", "--foreground", "--force", "--key-file", str(key), *pairs])
        self.wait_until(lambda: files[0].exists(), "munged's socket")
        self.start("controller", ["slurmctld", "-D"])
        for name in NODES:
            self.start_node(name)
        self.wait_until(lambda: set(self.node_states().values()) == {"idle"}, "idle nodes")
        return self

    def __exit__(self, *error) -> None:
        for name in reversed(list(self.daemons)):
            self.kill(name)

    def inside(self, command: list, host: str | None = None) -> list[str]:
        """The command as it runs with this cluster's /etc/slurm; with a host name, as a machine of its own."""
        script = 'mount --bind "$0" /etc/slurm && exec "$@"'
        machine = []
        if host:
            script = f"hostname {host} && {script}"
            machine = ["--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
        arguments = [self.folder / "etc", *command]
        return ["unshare", "--mount", *machine, "sh", "-c", script, *map(str, arguments)]

    def start(self, name: str, command: list) -> None:
        with open(self.folder / f"{name}.out", "a") as output:
            self.daemons[name] = subprocess.Popen(
                self.inside([which(command[0]), *command[1:]], name), stdout=output, stderr=output
            )

    def start_node(self, name: str) -> None:
        self.start(name, ["slurmd", "-D", "-N", name])

    def kill(self, name: str) -> None:
        """End a machine's first process, its daemon, and with it, at once, all that runs there."""
        process = self.daemons.pop(name)
        process.kill()  # unshare; the kernel then kills its child, and the child's namespace
        process.wait()

    def output(self, *command: str) -> str:
        return subprocess.check_output(self.inside(list(command)), text=True)

    def node_states(self) -> dict[str, str]:
        try:
            listing = self.output("sinfo", "--Node", "--noheader", "--format=%N %t")
        except subprocess.CalledProcessError:  # the controller is still starting
            return {}
        return dict(line.split() for line in listing.splitlines())

    def running(self) -> Iterator[tuple[int, str]]:
        """(job, node) of all that runs."""
        listing = self.output("squeue", "--noheader", "--states=running", "--format=%i %N")
        for line in listing.splitlines():
            job, node = line.split()
            yield int(job), node

    def nodes_of_jobs(self) -> dict[int, str]:
        """{job: the node that it ran on, in the end}."""
        found = re.findall(r"JobId=(\d+) .* NodeList=(\S+)", (self.folder / "jobs.txt").read_text())
        return {int(job): node for job, node in found}

    def restarts(self, job: int) -> int:
        """How often SLURM has run a job again."""
        return int(
            re.search(r"Restarts=(\d+)", self.output("scontrol", "show", "job", str(job)))[1]
        )

    def wait_until(self, condition: Callable[[], T], what: str, seconds: float = 300) -> T:
        """What `condition` returns as soon as that is true; an error with the daemons' logs if it takes too long."""
        end = time.monotonic() + seconds
        while not (found := condition()):
            if time.monotonic() > end:
                logs = [file for file in self.folder.iterdir() if file.suffix in (".log", ".out")]
                tails = [f"{file.name}:\n{file.read_text()[-2000:]}" for file in logs]
                raise TimeoutError(f"no {what} after {seconds} s\n" + "\n".join(tails))
            time.sleep(0.2)
        return found
