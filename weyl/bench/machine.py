"""Where and when something was measured."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch


def described(device: torch.device) -> dict[str, str | int]:
    """Kind of machine, versions and date, as every row of a measurement carries them."""
    cuda = device.type == "cuda"
    return {
        "machine": torch.cuda.get_device_name(device) if cuda else processor(),
        "cores": cores(),
        "torch": torch.__version__,
        "weyl": _version(),
        "date": datetime.now(UTC).date().isoformat(),
    }


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor() -> str:
    """The CPU's own name for itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    widest = torch.backends.cpu.get_cpu_capability()
    return f"{named[0] if named else platform.processor() or platform.machine()} ({widest})"


def _version() -> str:
    try:
        return version("weyl")
    except PackageNotFoundError:
        return "source tree"
