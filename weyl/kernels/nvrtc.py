"""CUDA C++ compiled at run time by NVRTC, which comes with torch's CUDA builds, and launched by the driver."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

LIBRARIES = ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "nvrtc64_130_0.dll", "nvrtc64_120_0.dll")
SHARED_MEMORY_ATTRIBUTE = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


@functools.cache
def find() -> ctypes.CDLL | None:
    """The library that torch brought, or the system's; None where there is neither."""
    folders = [Path(place) / "nvidia" for place in sys.path if place]
    brought = [found for folder in folders for name in LIBRARIES for found in folder.glob(f"*/lib/{name}")]
    for name in [*map(str, brought), *LIBRARIES]:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


@functools.cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")


def extension_folder() -> Path | None:
    """Where the package's compiled parts were installed, with the headers beside them."""
    try:
        from weyl import _native
    except ImportError:
        return None
    return Path(_native.__file__).parent if _native.__file__ else None


def cache_folder() -> Path:
    """Where compiled kernels are kept between processes."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "weyl" / "kernels"


def compile_source(source: str, headers: dict[str, str], architecture: str) -> bytes:
    """Machine code for an architecture such as sm_90; RuntimeError with the compiler's words."""
    library = find()
    assert library is not None, "no NVRTC: dispatch chose wrongly"
    program = ctypes.c_void_p()
    names = (ctypes.c_char_p * len(headers))(*(name.encode() for name in headers))
    texts = (ctypes.c_char_p * len(headers))(*(text.encode() for text in headers.values()))
    _check(
        library.nvrtcCreateProgram(
            ctypes.byref(program), source.encode(), b"weyl.cu", len(headers), texts, names
        )
    )
    try:
        options = [
            f"--gpu-architecture={architecture}".encode(),
            b"--std=c++17",
            b"--device-as-default-execution-space",
        ]
        status = library.nvrtcCompileProgram(
            program, len(options), (ctypes.c_char_p * len(options))(*options)
        )
        if status:
            size = ctypes.c_size_t()
            library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            library.nvrtcGetProgramLog(program, log)
            raise RuntimeError(f"the GPU kernel did not compile for {architecture}:\n{log.value.decode()}")
        size = ctypes.c_size_t()
        _check(library.nvrtcGetCUBINSize(program, ctypes.byref(size)))
        code = ctypes.create_string_buffer(size.value)
        _check(library.nvrtcGetCUBIN(program, code))
        return code.raw
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _check(status: int, what: str = "NVRTC") -> None:
    if status:
        raise RuntimeError(f"{what} failed with status {status}")


def _kept(source: str, headers: dict[str, str], architecture: str) -> bytes:
    """Machine code from the cache on disk, or compiled and kept there, whole or not at all."""
    library = find()
    assert library is not None
    major, minor = ctypes.c_int(), ctypes.c_int()
    library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    content = "\0".join([source, *headers.values(), architecture, f"{major.value}.{minor.value}"])
    place = cache_folder() / f"{hashlib.sha256(content.encode()).hexdigest()}.cubin"
    try:
        return place.read_bytes()
    except OSError:
        code = compile_source(source, headers, architecture)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as file:
            file.write(code)
        os.replace(file.name, place)
    except OSError:
        pass  # nowhere to keep it: the next process compiles again
    return code


class Module:
    """Machine code on the GPU that is current; its functions are launched on torch's current stream."""

    def __init__(self, code: bytes):
        torch.cuda.current_stream()  # torch makes the context
        self._handle = ctypes.c_void_p()
        _check(_driver().cuModuleLoadData(ctypes.byref(self._handle), code), "loading the GPU kernel")
        self._functions: dict[str, ctypes.c_void_p] = {}

    def function(self, name: str) -> ctypes.c_void_p:
        if name not in self._functions:
            found = ctypes.c_void_p()
            _check(_driver().cuModuleGetFunction(ctypes.byref(found), self._handle, name.encode()), name)
            self._functions[name] = found
        return self._functions[name]

    def integer(self, name: str) -> int:
        """The value of a whole number in the module."""
        address, size, value = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_int()
        driver = _driver()
        _check(
            driver.cuModuleGetGlobal_v2(
                ctypes.byref(address), ctypes.byref(size), self._handle, name.encode()
            )
        )
        _check(driver.cuMemcpyDtoH_v2(ctypes.byref(value), address, ctypes.c_size_t(4)))
        return value.value

    def allow_shared_memory(self, name: str, size: int) -> None:
        """Lets a function use so many bytes of shared memory a block."""
        _check(_driver().cuFuncSetAttribute(self.function(name), SHARED_MEMORY_ATTRIBUTE, size), name)

    def launch(self, name: str, blocks: int, threads: int, shared: int, arguments: list[Any]) -> None:
        """Starts a function; arguments are ctypes values."""
        addresses = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(x) for x in arguments))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        _check(
            _driver().cuLaunchKernel(
                self.function(name), blocks, 1, 1, threads, 1, 1, shared, stream, addresses, None
            ),
            f"launching {name} on the GPU",
        )


def load(source: str, headers: dict[str, str], properties: Any) -> Module:
    """A module for a GPU of these properties."""
    return Module(_kept(source, headers, f"sm_{properties.major}{properties.minor}"))
