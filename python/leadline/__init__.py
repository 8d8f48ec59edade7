# SPDX-License-Identifier: Apache-2.0
"""Leadline: how long a deep-learning step takes on a machine that is described, and why.

>>> import leadline
>>> trace = leadline.Trace.record("resnet50", batch=32)
>>> leadline.simulate(trace, "h100_sxm").time_s             # seconds a step
>>> leadline.simulate(trace, "dgx_h100+pytorch", tp=8)      # in a notebook: a table
>>> leadline.sweep(trace, "h100_sxm", {"memory.hbm3.bandwidth": ["3TB/s", "6TB/s"]}).to_pandas()

Numbers are in base units, which the ends of their names tell: `_s` seconds, `_bytes`, `_j` joules. Options are those of the
program's commands (`leadline help sim`), with underscores for dashes. What is wrong raises `Error` with file, line and
what was expected. All functions may be called from any thread; they let other threads of Python run meanwhile.
"""
from __future__ import annotations

import ctypes
import html
import itertools
import json
import math
import os
import random
import tempfile
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple, Union

from ._library import (Error, InputError, SystemFailure, Value, checked, encoded, library, numbered, options_of,
                       overrides_of, texts)

__all__ = ["Error", "InputError", "SystemFailure", "Trace", "Builder", "Op", "Machine", "Result", "Sweep", "Space", "Search",
           "simulate", "plan", "serve", "sweep", "run", "machines", "models", "folders"]
__version__: str = library.leadline_version().decode()

Path = Union[str, "os.PathLike[str]"]
#: "64x128:bf16", or ((64, 128), "bf16").
Shape = Union[str, Tuple[Sequence[int], str]]


class _Handle:
    """Something of the library, freed with the object."""

    _free: Callable[[int], None]
    _handle: Optional[int] = None

    @property
    def _as_parameter_(self) -> Optional[int]:
        """What functions of the library take: an argument keeps the object alive while they run, a bare handle
        would not."""
        return self._handle

    def __del__(self) -> None:
        if self._handle:
            self._free(self._handle)
            self._handle = None


class Trace(_Handle):
    """A recorded workload; it never changes."""

    _free = library.leadline_trace_free

    def __init__(self, path: Path):
        """Reads a trace file (.llt)."""
        self._handle = checked(library.leadline_trace_read(encoded(path)))

    @classmethod
    def _of(cls, handle: Optional[int]) -> "Trace":
        trace = cls.__new__(cls)
        trace._handle = checked(handle)
        return trace

    @classmethod
    def record(cls, model: str, *, dry_run: bool = True, params: Optional[Mapping[str, Any]] = None,
               **options: Value) -> "Trace":
        """Records a model that comes along (`leadline.models()`), or a language model by its name.

        dry_run: without computing, so that a workload of any size can be recorded; else steps run on this machine, with times.
        params: the model's own parameters. Options are those of `leadline record`: train, infer, batch, steps."""
        given = dict(options, dry_run=dry_run, param=[f"{key}={value}" for key, value in (params or {}).items()])
        return cls._of(library.leadline_trace_record(encoded(model), options_of(given)))

    @classmethod
    def import_(cls, path: Path, format: Optional[str] = None, *, params: Optional[Mapping[str, Any]] = None,
                **options: Value) -> "Trace":
        """Reads a file of another tool; format as `leadline import --help` lists them, None: what it looks like."""
        given = dict(options, param=[f"{key}={value}" for key, value in (params or {}).items()])
        return cls._of(library.leadline_trace_import(format.encode() if format else None, encoded(path),
                                                     options_of(given)))

    @classmethod
    def from_onnx(cls, model: Any, **options: Value) -> "Trace":
        """An ONNX network, a file or what onnx.load gives: one inference without times."""
        if isinstance(model, (str, os.PathLike)):
            return cls.import_(model, "onnx", **options)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            with open(path, "wb") as file:
                file.write(model.SerializeToString())
            return cls.import_(path, "onnx", **options)

    @classmethod
    def from_torch(cls, model: Callable[..., Any], inputs: Any, *, backward: bool = False,
                   **options: Value) -> "Trace":
        """What PyTorch does in one call of `model` on `inputs` (a tensor, or a tuple of arguments), by PyTorch's own
        observer. backward: also the gradients of the sum of what it returns."""
        from torch import profiler

        observers = [getattr(profiler, name, None) for name in ("ExecutionTraceObserver", "ExecutionGraphObserver")]
        kind = next((observer for observer in observers if observer), None)
        if kind is None:
            from torch.profiler import _execution_graph_observer  # of 1.12
            kind = _execution_graph_observer.ExecutionGraphObserver
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "step.json")
            observer = kind()
            observer.register_callback(path)
            observer.start()
            try:
                output = model(*inputs) if isinstance(inputs, (tuple, list)) else model(inputs)
                if backward:
                    _sum_of(output).backward()
            finally:
                observer.stop()
                observer.unregister_callback()
            return cls.import_(path, "pytorch-graph", **options)

    @classmethod
    def build(cls, name: str, **options: Value) -> "Builder":
        """A trace that is built op by op: see `Builder`."""
        return Builder(name, **options)

    def change(self, **options: Value) -> "Trace":
        """Another trace: batch=512, as_="bf16", gemm_dtype="f8", weights_as="int4", prune="2:4", gaps="drop"."""
        return Trace._of(library.leadline_trace_change(self, options_of(options)))

    def write(self, path: Path) -> None:
        """Writes it to a file."""
        if not library.leadline_trace_write(self, encoded(path)):
            checked(None)


class Op(NamedTuple):
    """An op of a trace that is being built. As an input of another op it stands for the one tensor that it makes."""

    number: int
    outputs: Tuple[int, ...]


class Builder(_Handle):
    """A trace of one step that is built op by op; tensors and ops are numbered from 0 as they are added.

    >>> step = leadline.Trace.build("layer", batch=64)
    >>> x = step.tensor((64, 512), "bf16", roles=["batch", "hidden"])
    >>> w = step.tensor((512, 512), "bf16", class_="weight")
    >>> y = step.op("relu", step.op("matmul", x, w, scope="layer"))
    >>> leadline.simulate(step.close(), "h100_sxm").time_s

    After a mistake nothing more can be added: the trace would lack an op."""

    _free = library.leadline_build_free

    def __init__(self, name: str, **options: Value):
        """name: as documents call the trace. Options: train=True (an inference otherwise), batch=8."""
        self._handle = checked(library.leadline_build_open(name.encode(), options_of(options)))

    def tensor(self, shape: Union[str, Sequence[int]], dtype: Optional[str] = None, *,
               roles: Sequence[Optional[str]] = (), **options: Value) -> int:
        """Adds a tensor that no op makes, and gives its number. shape: (64, 128) with a dtype, or "64x128:bf16".

        class_: "weight", "gradient", "activation", "optimizer", "workspace", "input" (the default); roles: what dimensions
        mean ("batch", "sequence", "hidden", ...), for other batches and plans; name: for documents."""
        text = shape if isinstance(shape, str) else _shape_text((shape, dtype or "f32"))
        given = dict(options, roles=",".join(role or "" for role in roles) or None)
        return numbered(library.leadline_build_tensor(self, text.encode(), options_of(given, "_")))

    def op(self, kind: str, *inputs: Union[int, Op], out: Union[Shape, Sequence[Shape], None] = None,
           after: Union[int, Op, Sequence[Union[int, Op]]] = (), **options: Value) -> Op:
        """Adds an op of a kind that `leadline ops` lists, which reads these tensors.

        out: what it makes, where inputs do not tell; after: ops that it waits for although it reads nothing of theirs;
        phase, scope, class_, name, time ("12us"), and attributes of the op: transpose_b=True, stride_h=2."""
        numbers = [one if isinstance(one, int) else self._only_output(one) for one in inputs]
        before = [after] if isinstance(after, (int, Op)) else after
        shapes = [] if out is None else [out] if isinstance(out, (str, tuple)) else out
        given = dict(options)
        if shapes:
            given["out"] = "+".join(map(_shape_text, shapes))
        if before:
            given["after"] = [one if isinstance(one, int) else one.number for one in before]
        number = numbered(library.leadline_build_op(self, kind.encode(), (ctypes.c_int64 * len(numbers))(*numbers),
                                                    len(numbers), options_of(given, "_") if given else None))
        outputs: List[int] = []
        while (tensor := library.leadline_build_output(self, number, len(outputs))) >= 0:
            outputs.append(tensor)
        return Op(number, tuple(outputs))

    def _only_output(self, op: Op) -> int:
        if len(op.outputs) != 1:
            raise ValueError(f"op {op.number} makes {len(op.outputs)} tensors; name one, as op.outputs[0]")
        return op.outputs[0]

    def shape(self, tensor: Union[int, Op]) -> str:
        """The shape of a tensor, as "64x128:bf16"."""
        text = library.leadline_build_shape(self, tensor if isinstance(tensor, int) else self._only_output(tensor))
        if text is None:
            raise IndexError(f"there is no tensor {tensor}")
        return text.decode()

    def close(self) -> Trace:
        """Ends it, and gives the trace."""
        return Trace._of(library.leadline_build_close(self))


def _shape_text(shape: Shape) -> str:
    return shape if isinstance(shape, str) else "x".join(map(str, shape[0])) + ":" + shape[1]


class Machine(_Handle):
    """A described machine; it never changes."""

    _free = library.leadline_machine_free

    def __init__(self, name: Path, overrides: Optional[Mapping[str, Any]] = None):
        """A YAML file, DEVICE, DEVICE+STACK or SYSTEM+STACK (`leadline.machines()`); overrides: values by path, as
        {"memory.hbm.bandwidth": "1.2TB/s"}."""
        self._handle = checked(library.leadline_machine_read(encoded(name), overrides_of(overrides)))

    def with_(self, overrides: Mapping[str, Any]) -> "Machine":
        """The same with further overrides."""
        machine = Machine.__new__(Machine)
        machine._handle = checked(library.leadline_machine_with(self, overrides_of(overrides)))
        return machine

    @property
    def name(self) -> str:
        """Its short name, with stack and system."""
        return library.leadline_machine_name(self).decode()

    def __repr__(self) -> str:
        return f"<leadline.Machine {self.name}>"


class Result(_Handle):
    """What was found. Keys of the document are attributes (`result.time_s`); any number is there by its path
    (`result["memory.peak_bytes"]`, `result["by_kind.matmul.time_s"]`)."""

    _free = library.leadline_result_free

    def __init__(self, handle: Optional[int]):
        self._handle = checked(handle)
        self._document: Optional[Dict[str, Any]] = None

    def __getitem__(self, path: str) -> float:
        value = ctypes.c_double()
        if library.leadline_number(self, path.encode(), ctypes.byref(value)):
            return value.value
        raise KeyError(path)

    @property
    def json_text(self) -> str:
        """The document, as the program prints it with --json."""
        return library.leadline_json(self).decode()

    @property
    def document(self) -> Dict[str, Any]:
        """The whole document."""
        if self._document is None:
            self._document = json.loads(self.json_text)
        return self._document

    @property
    def _main(self) -> Dict[str, Any]:
        """What attributes are of: a simulation's only result, else the document."""
        document = self.document
        return document["results"][0] if document.get("schema") == "sim" else document

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._main[name]
        except KeyError:
            raise AttributeError(f"the result has no `{name}`; it has {', '.join(self._main)}") from None

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *self._main})

    @property
    def remarks(self) -> str:
        """What there was to say beside the document."""
        return library.leadline_remarks(self).decode(errors="replace").rstrip("\n")

    def __str__(self) -> str:
        return library.leadline_text(self).decode(errors="replace")

    def __repr__(self) -> str:
        return f"<leadline.Result {self.document.get('schema', '')}>"

    def tables(self) -> List[str]:
        """The lists of objects in the document: what to_pandas() can make a frame of."""
        return [key for key, value in self._main.items() if _is_table(value)]

    def to_pandas(self, table: Optional[str] = None) -> Any:
        """A list of the document as a pandas frame: "by_kind", "ops" (per_op=True), "what_if", "plans", ...; None: the
        first that there is. Members of members have dots in their names."""
        import pandas

        tables = self.tables()
        if table is None and not tables:
            return pandas.json_normalize(self._main)
        if table is not None and table not in tables:
            raise KeyError(f"no table `{table}`; there are {', '.join(tables) or 'none'}")
        return pandas.json_normalize(self._main[table or tables[0]])

    def _repr_html_(self) -> str:
        """For notebooks: the numbers, then the first table."""
        numbers = [(key, value) for key, value in self._main.items()
                   if isinstance(value, (str, int, float)) and key not in ("schema", "version")]
        parts = [_table_html(("", ""), numbers)]
        for name in self.tables()[:1]:
            rows = self._main[name][:20]
            head = [key for key, value in rows[0].items() if isinstance(value, (str, int, float))]
            parts.append(_table_html(head, [[row.get(key) for key in head] for row in rows]))
        return "".join(parts)


def _sum_of(output: Any) -> Any:
    if isinstance(output, (tuple, list)):
        return sum(_sum_of(one) for one in output)
    if isinstance(output, dict):
        return sum(_sum_of(one) for one in output.values())
    return output.sum()


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _cell(value: Any) -> str:
    return html.escape(f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value))


def _table_html(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    first = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{first}</tr></thead><tbody>{body}</tbody></table>"


def _trace_of(trace: Union[Trace, Path]) -> Trace:
    return trace if isinstance(trace, Trace) else Trace(trace)


def _machine_of(machine: Union[Machine, Path]) -> Machine:
    return machine if isinstance(machine, Machine) else Machine(machine)


def simulate(trace: Union[Trace, Path], machine: Union[Machine, Path], **options: Value) -> Result:
    """How long a step takes, and what holds it back. Options of `leadline sim`: tp=8, dp=4, plan="p.yaml" spread it over
    devices; what_if=True, per_op=True, memory=True add to the document; batch, as_, gemm_dtype, ... change the trace."""
    return Result(library.leadline_simulate(_machine_of(machine), _trace_of(trace),
                                            options_of(options) if options else None))


def plan(trace: Union[Trace, Path], machine: Union[Machine, Path], **options: Value) -> Result:
    """The fastest ways to spread a step over devices; options of `leadline plan`: devices=64, batch=1024."""
    return Result(library.leadline_plan(_machine_of(machine), _trace_of(trace), options_of(options)))


def serve(machine: Union[Machine, Path], model: str, **options: Value) -> Result:
    """A language-model server under load; options of `leadline serve`: rate=10, input_tokens=512, tp=2."""
    return Result(library.leadline_serve(_machine_of(machine), options_of(dict(options, model=model))))


def run(command: str, *words: Path, **options: Value) -> Result:
    """Any command of the program: run("compare", "a.llt", "b.llt")."""
    return Result(library.leadline_run(command.encode(), options_of(options), texts(os.fspath(word) for word in words)))


def folders() -> List[str]:
    """Where machines are looked for by name."""
    return [folder for folder in os.fsdecode(library.leadline_folders()).split(":") if folder]


def machines() -> List[Dict[str, Any]]:
    """The machines that come along, as `leadline machines --json` lists them."""
    return run("machines").document["machines"]


def models() -> List[Dict[str, Any]]:
    """The models that come along, as `leadline models --json` lists them."""
    return run("models").document["models"]


class Sweep(Sequence[Tuple[Dict[str, Any], Optional[Result]]]):
    """Designs and what became of them; a result is None where such a machine cannot be (`errors` has why)."""

    def __init__(self, points: List[Tuple[Dict[str, Any], Optional[Result]]], errors: Dict[int, Error]):
        self._points, self.errors = points, errors

    def __len__(self) -> int:
        return len(self._points)

    def __getitem__(self, i: Any) -> Any:
        return self._points[i]

    def to_pandas(self, numbers: Sequence[str] = ("time_s", "energy_j", "flop_utilization", "memory.peak_bytes")) -> Any:
        """A row for each design: its values, and these numbers of its result."""
        import pandas

        def number(result: Optional[Result], path: str) -> float:
            try:
                return result[path] if result is not None else float("nan")
            except KeyError:
                return float("nan")

        return pandas.DataFrame([{**values, **{path: number(result, path) for path in numbers}}
                                 for values, result in self._points])

    def _repr_html_(self) -> str:
        names = list(self._points[0][0]) if self._points else []
        rows = [[*values.values(), result["time_s"] if result is not None else None] for values, result in self._points]
        return _table_html([*names, "time_s"], rows)


def sweep(trace: Union[Trace, Path], machine: Union[Machine, Path], vary: Mapping[str, Sequence[Any]],
          **options: Value) -> Sweep:
    """Simulates every combination of values of the machine: vary = {"units.array.rows": [64, 128], ...}. For many
    designs, constraints, searches and databases there are sweep files: `Space`, and run("sweep", FILE, output=DB)."""
    base, recorded = _machine_of(machine), _trace_of(trace)
    points: List[Tuple[Dict[str, Any], Optional[Result]]] = []
    errors: Dict[int, Error] = {}
    for values in itertools.product(*vary.values()):
        point = dict(zip(vary, values))
        try:
            points.append((point, simulate(recorded, base.with_(point), **options)))
        except InputError as error:
            errors[len(points)] = error
            points.append((point, None))
    if points and len(errors) == len(points):
        raise errors[0]
    return Sweep(points, errors)


class Space(_Handle):
    """The designs of a sweep file, to be evaluated one by one by whoever chooses them."""

    _free = library.leadline_space_free

    def __init__(self, path: Path):
        """Reads the file, its base machine and its workloads."""
        self._handle = checked(library.leadline_space_open(encoded(path)))
        about = Result(library.leadline_space_about(self)).document
        self.name: str = about["name"]
        #: The values of each parameter, as texts, by its path.
        self.parameters: Dict[str, List[str]] = {one["path"]: one["values"] for one in about["parameters"]}
        #: As written: "min time_s".
        self.objectives: List[str] = about["objectives"]

    def __len__(self) -> int:
        return library.leadline_space_size(self)

    def number_of(self, values: Mapping[str, Any]) -> int:
        """The number of the design that has these values."""
        number = 0
        for path, texts_of in self.parameters.items():
            number = number * len(texts_of) + texts_of.index(str(values[path]))
        return number

    def point(self, design: Union[int, Mapping[str, Any]]) -> Result:
        """Evaluates a design, by its number or its values: the document of `leadline sweep --point`."""
        number = design if isinstance(design, int) else self.number_of(design)
        return Result(library.leadline_space_point(self, number))

    def evaluate(self, design: Union[int, Mapping[str, Any]]) -> Optional[List[float]]:
        """The objectives of a design, in the order of the file; None where it is not valid."""
        point = self.point(design)
        return list(point.objectives.values()) if point.valid else None

    def directions(self) -> List[str]:
        """"minimize" or "maximize" for each objective, as Optuna's create_study takes them."""
        return ["maximize" if one.startswith("max ") else "minimize" for one in self.objectives]

    def suggest(self, trial: Any) -> Dict[str, str]:
        """A design that an Optuna trial chooses."""
        return {path: trial.suggest_categorical(path, values) for path, values in self.parameters.items()}


class Search:
    """Chooses designs for an evaluation that is somebody else's: `ask` for values, `tell` what became of them.

    Designs come from chance at first; then three of four are neighbours of a design on the front so far: one value, or
    two, differ. Deterministic by its seed and what it is told; no design is asked for twice."""

    def __init__(self, parameters: Mapping[str, Sequence[Any]], *, seed: int = 1, beginning: int = 16):
        """parameters: the values of each, in their order, as Space.parameters has them; beginning: designs of chance."""
        self.parameters = {path: list(values) for path, values in parameters.items()}
        self._sizes = [len(values) for values in self.parameters.values()]
        self._beginning = beginning
        self._random = random.Random(seed)
        self._asked: Set[Tuple[int, ...]] = set()
        self._front: List[Tuple[Tuple[int, ...], Tuple[float, ...]]] = []

    def _values(self, design: Tuple[int, ...]) -> Dict[str, Any]:
        return {path: values[i] for (path, values), i in zip(self.parameters.items(), design)}

    def _fresh(self) -> Tuple[int, ...]:
        return tuple(self._random.randrange(size) for size in self._sizes)

    def _neighbour(self) -> Tuple[int, ...]:
        design = list(self._random.choice(self._front)[0])
        for _ in range(self._random.choice((1, 1, 2))):
            i = self._random.randrange(len(design))
            design[i] = min(max(design[i] + self._random.choice((-1, 1)), 0), self._sizes[i] - 1)
        return tuple(design)

    def ask(self) -> Optional[Dict[str, Any]]:
        """Values to try; None when all were."""
        if len(self._asked) >= math.prod(self._sizes):
            return None
        for _ in range(64):
            learns = self._front and len(self._asked) >= self._beginning and self._random.random() < 0.75
            design = self._neighbour() if learns else self._fresh()
            if design not in self._asked:
                break
        else:  # few are left: the first of them
            design = next(one for one in itertools.product(*map(range, self._sizes)) if one not in self._asked)
        self._asked.add(design)
        return self._values(design)

    def tell(self, values: Mapping[str, Any], objectives: Optional[Sequence[float]]) -> None:
        """What became of them: objectives, of which less is better; None: such a design cannot be."""
        design = tuple(choices.index(values[path]) for path, choices in self.parameters.items())
        self._asked.add(design)
        if objectives is None or any(_dominates(other, tuple(objectives)) for _, other in self._front):
            return
        told = tuple(objectives)
        self._front = [one for one in self._front if not _dominates(told, one[1])] + [(design, told)]

    def front(self) -> List[Tuple[Dict[str, Any], Tuple[float, ...]]]:
        """The designs that no other one beats in all objectives, with these."""
        return [(self._values(design), objectives) for design, objectives in self._front]


def _dominates(one: Tuple[float, ...], other: Tuple[float, ...]) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other))
