"""Describes the machine that kernels are compiled for, in LLVM's words."""

from contextlib import suppress

import llvmlite.binding as llvm

from kafka_lagoon.frozen import frozen


@frozen(kw_only=False)
class Host:
    """The machine that object code was compiled for. Machines that share a file system may differ in it."""

    triple: str
    cpu: str
    features: str


def this_host() -> Host:
    """The machine that this process runs on."""
    features = ""
    with suppress(RuntimeError):  # LLVM does not know the features of every processor
        features = llvm.get_host_cpu_features().flatten()
    return Host(llvm.get_process_triple(), llvm.get_host_cpu_name(), features)
