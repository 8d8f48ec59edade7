# SPDX-License-Identifier: Apache-2.0
# What each Python of a recorded program runs first: `leadline record` puts the folder of this file in front of
# PYTHONPATH. Where the program imports torch, torch_trace.py beside this file goes on; nothing else changes.
# Python 2 must be able to read it.
import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))


class Finder(object):
    """Stands first among those who find modules, until torch is asked for: finds it as the others do, and has its
    loader call us when torch is there."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch" or path is not None:
            return None
        sys.meta_path.remove(self)
        import importlib.util

        spec = importlib.util.find_spec(name)
        run = getattr(getattr(spec, "loader", None), "exec_module", None)
        if run is None:
            return spec

        def exec_module(module):
            run(module)
            go_on(module)

        spec.loader.exec_module = exec_module
        return spec


def go_on(torch):
    """Whatever goes wrong here is told to the recorder, and is no matter of the program."""
    try:
        with open(os.path.join(FOLDER, "torch_trace.py")) as source:
            code = compile(source.read(), "torch_trace.py", "exec")
        names = {"__name__": "leadline_torch_trace"}
        exec(code, names)
        names["start"](torch, FOLDER)
    except Exception as trouble:
        try:
            with open(os.path.join(FOLDER, "torch.%d.trouble" % os.getpid()), "w") as told:
                told.write("%s: %s\n" % (type(trouble).__name__, trouble))
        except Exception:
            pass


def run_the_other():
    """The sitecustomize that would have run without us, as if we had not been."""
    sys.path[:] = [place for place in sys.path if os.path.abspath(place) != FOLDER]
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    spec = PathFinder.find_spec("sitecustomize")
    if spec is None:
        return
    sys.modules["sitecustomize"] = module = module_from_spec(spec)
    spec.loader.exec_module(module)


if sys.version_info >= (3, 7):
    sys.meta_path.insert(0, Finder())
if sys.version_info >= (3, 5):
    run_the_other()
else:
    sys.path[:] = [place for place in sys.path if os.path.abspath(place) != FOLDER]
    del sys.modules["sitecustomize"]
    try:
        import sitecustomize  # the other one
    except ImportError:
        sys.modules["sitecustomize"] = sys
