"""Slurm on one node, this machine, started and stopped by a test; as root, from Debian's package slurm-wlm."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

MISSING = [name for name in ("slurmctld", "slurmd", "sbatch", "srun") if shutil.which(name) is None]

CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
AuthInfo=cred_expire=2
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
KillWait=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=test Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


class SlurmNode:
    """A running Slurm of one node with two CPUs; its commands find it by an environment variable."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.env = {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            sockets = [stack.enter_context(socket.socket()) for _ in range(2)]
            for one in sockets:
                one.bind(("127.0.0.1", 0))
            ports = [one.getsockname()[1] for one in sockets]
        for name in ("state", "spool"):
            (self.folder / name).mkdir(parents=True)
        host = socket.gethostname().split(".")[0]
        (self.folder / "slurm.conf").write_text(
            CONF.format(host=host, ports=ports, folder=self.folder, cpus=min(2, os.cpu_count()))
        )
        for daemon in (("slurmctld", "-c"), ("slurmd",)):
            self.run(*daemon)
        self.wait_for(lambda: self.run("sinfo", "--noheader", "--format=%t").strip() == "idle", 30)
        return self

    def __exit__(self, *exception):
        self.run("scancel", "--user=root", check=False)
        with contextlib.suppress(TimeoutError):
            self.wait_for(lambda: not self.jobs(), 15)
        for name in ("slurmd", "slurmctld"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                os.kill(int((self.folder / f"{name}.pid").read_text()), signal.SIGTERM)

    def run(self, *command, check=True):
        """The output of one of Slurm's commands."""
        done = subprocess.run(command, env=os.environ | self.env, capture_output=True, text=True, check=check)
        return done.stdout

    def jobs(self, state=""):
        """Numbers of the tasks that wait or run, or of those in a state such as RUNNING."""
        states = [f"--states={state}"] if state else []
        return self.run("squeue", "--noheader", "--array", "--format=%i", *states).split()

    @staticmethod
    def wait_for(condition, seconds):
        """Wait until something holds."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError
            time.sleep(0.1)
