# SPDX-License-Identifier: Apache-2.0
"""The C library by ctypes: where it lies, its functions, its errors, options as it takes them."""
from __future__ import annotations

import ctypes
import ctypes.util
import os
from typing import Any, Iterable, Mapping, Optional, Sequence, Union

#: A value of an option: text, number or flag; several of an option that may be given again.
Value = Union[str, int, float, bool, None, Sequence[Union[str, int, float]]]

NAME = "libleadline.so.0"
DONE, FAILED, WRONG, INTERRUPTED = 0, 1, 2, 130


class Error(Exception):
    """What the library refused: the text says what is wrong, where, and what was expected."""


class InputError(Error, ValueError):
    """The input is wrong: a file, a name, an option."""


class SystemFailure(Error, OSError):
    """A file, memory or the system failed."""


def _load() -> ctypes.CDLL:
    """The library that LEADLINE_LIBRARY names, else the one in this package (a wheel), else the system's."""
    named = os.environ.get("LEADLINE_LIBRARY")
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), NAME)
    for path in [named] if named else [beside, NAME]:
        try:
            return ctypes.CDLL(path)
        except OSError as trouble:
            if path != beside or os.path.exists(path):
                raise ImportError(f"{path}: {trouble}; LEADLINE_LIBRARY may name {NAME}") from None
    raise AssertionError("not reached")


library = _load()

_text, _options, _handle = ctypes.c_char_p, ctypes.POINTER(ctypes.c_char_p), ctypes.c_void_p
_double = ctypes.POINTER(ctypes.c_double)
for _name, _result, _arguments in [
    ("version", _text, []),
    ("messages", _text, []),
    ("status", ctypes.c_int, []),
    ("folders", _text, []),
    ("trace_read", _handle, [_text]),
    ("trace_record", _handle, [_text, _options]),
    ("trace_import", _handle, [_text, _text, _options]),
    ("trace_change", _handle, [_handle, _options]),
    ("trace_write", ctypes.c_int, [_handle, _text]),
    ("trace_free", None, [_handle]),
    ("build_open", _handle, [_text, _options]),
    ("build_tensor", ctypes.c_int64, [_handle, _text, _options]),
    ("build_op", ctypes.c_int64, [_handle, _text, ctypes.POINTER(ctypes.c_int64), ctypes.c_size_t, _options]),
    ("build_output", ctypes.c_int64, [_handle, ctypes.c_int64, ctypes.c_size_t]),
    ("build_shape", _text, [_handle, ctypes.c_int64]),
    ("build_close", _handle, [_handle]),
    ("build_free", None, [_handle]),
    ("machine_read", _handle, [_text, _options]),
    ("machine_with", _handle, [_handle, _options]),
    ("machine_name", _text, [_handle]),
    ("machine_free", None, [_handle]),
    ("simulate", _handle, [_handle, _handle, _options]),
    ("plan", _handle, [_handle, _handle, _options]),
    ("serve", _handle, [_handle, _options]),
    ("space_open", _handle, [_text]),
    ("space_about", _handle, [_handle]),
    ("space_size", ctypes.c_uint64, [_handle]),
    ("space_point", _handle, [_handle, ctypes.c_uint64]),
    ("space_free", None, [_handle]),
    ("run", _handle, [_text, _options, _options]),
    ("json", _text, [_handle]),
    ("number", ctypes.c_int, [_handle, _text, _double]),
    ("remarks", _text, [_handle]),
    ("text", _text, [_handle]),
    ("result_free", None, [_handle]),
]:
    _function = getattr(library, "leadline_" + _name)
    _function.restype, _function.argtypes = _result, _arguments


def messages() -> str:
    """What the last call of this thread had to say."""
    return library.leadline_messages().decode(errors="replace").rstrip("\n")


def checked(handle: Optional[int]) -> int:
    """The handle, or the error that the library tells of."""
    if handle:
        return handle
    raise (InputError if library.leadline_status() == WRONG else SystemFailure)(messages())


def numbered(number: int) -> int:
    """The number of what was added, or the error that the library tells of."""
    if number < 0:
        checked(None)
    return number


def encoded(path: Union[str, "os.PathLike[str]"]) -> bytes:
    """A path or name as the library takes it."""
    return os.fsencode(path)


def texts(words: Iterable[str]) -> Any:
    """An array of texts, ended by NULL; NULL of none."""
    all_words = [os.fsencode(word) for word in words]
    return (ctypes.c_char_p * (len(all_words) + 1))(*all_words, None) if all_words else None


def words_of(options: Mapping[str, Value], separator: str = "-") -> "list[str]":
    """Options as texts: `gemm_dtype="f8"` is "gemm-dtype=f8", True a flag, None and False nothing, a list several."""
    words: "list[str]" = []
    for name, value in options.items():
        name = name.rstrip("_").replace("_", separator)
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                words.append(name)
            elif one is not None and one is not False:
                words.append(f"{name}={one}")
    return words


def options_of(options: Mapping[str, Value], separator: str = "-") -> Any:
    """The same as an array for the library."""
    return texts(words_of(options, separator))


def overrides_of(overrides: Optional[Mapping[str, Any]]) -> Any:
    """Values of a machine by their paths, as an array for the library."""
    return texts(f"{path}={value}" for path, value in (overrides or {}).items())
