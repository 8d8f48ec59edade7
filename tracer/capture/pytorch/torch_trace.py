# SPDX-License-Identifier: Apache-2.0
"""Takes PyTorch's own execution trace (its observer's) of a program that leadline records.

The observer runs from the import of torch on. Marks go into the trace where an optimizer's step ends, where a backward
pass ends, and where the network that was called first is called. When there are enough of them, or when the program
ends, what lies between the right two is kept: one step, as if somebody had switched the observer on and off around it.
It lies in torch.PID.json then, and in torch.PID.steps how many steps there were. A program that does none of this has
what it repeats as its steps.

What cannot be done is told in torch.PID.trouble, a sentence, and that nothing was to be done in torch.PID.none; the
program goes on as if we were not there."""
import atexit
import bisect
import functools
import os
import re
import threading

MARK = "leadline mark "
ENOUGH_MARKS = 16  # two rounds of eight optimizers, or of a discriminator that is trained seven times a round
ENOUGH_BYTES = 16 << 20  # of the trace, where it holds whole steps already
MOST_BYTES = 128 << 20  # of the trace, where it does not
LOOK_S = 0.25  # between looks at its size

OPTIMIZER, BACKWARD, NETWORK = "optimizer", "backward", "network"


# Which part of the trace is a step.


class Node:
    def __init__(self, text):
        def number(pattern):
            found = re.search(pattern, text)
            return int(found.group(1)) if found else 0

        self.text = text
        self.id = number(r'"id": (\d+)')
        self.parent = number(r'"(?:parent|ctrl_deps)": (\d+)')
        self.name = re.search(r'"name": "([^"]*)"', text).group(1)
        shapes = re.search(r'"(?:input_)?shapes": (\[.*?\]),? "', text)
        self.look = (self.name, shapes and shapes.group(1))


def split(text):
    """What stands before the nodes, the nodes, and what stands behind them: each begins and ends in a line of its own. One
    that was not written to its end is none."""
    found = list(re.finditer(r"\n( +)\{\n.*?\n\1\}", text, re.DOTALL))
    if not found:
        return text, [], ""
    return text[: found[0].start()], [Node(one.group()) for one in found], text[found[-1].end():]


def period_of(who):
    """After how many the list says the same again, as far as it goes."""
    period = 1
    while any(a != b for a, b in zip(who, who[period:])):
        period += 1
    return period


def typical(windows, count):
    """The window with the median number of nodes."""
    sized = sorted(windows, key=lambda window: count(*window))
    return sized[(len(sized) - 1) // 2]


def repeated(looks):
    """The last but one of what a list repeats at its end, three times at least: where it begins and ends, and how often;
    None where it repeats nothing. Of several ways the one that covers most, then the shortest."""
    back, fits, best = looks[::-1], [0], None
    for i in range(1, len(back)):
        k = fits[-1]
        while k and back[i] != back[k]:
            k = fits[k - 1]
        fits.append(k + (back[i] == back[k]))
        period = i + 1 - fits[-1]
        if (i + 1) // period >= 3:
            best = (len(looks) - 2 * period, len(looks) - period, (i + 1) // period)
    return best


def find_step(marks, nodes):
    """The step: nodes behind the first number returned, up to the second; how many steps there are, and how many steps of
    optimizers one has.

    marks: (node, kind, who), nodes: in the order of their numbers."""
    ids = [node.id for node in nodes]

    def count(first, end):
        return bisect.bisect_right(ids, end) - bisect.bisect_right(ids, first)

    calls = [node for node, kind, _ in marks if kind == NETWORK]
    for ending in OPTIMIZER, BACKWARD:
        ends = [(node, who) for node, kind, who in marks if kind == ending]
        if not ends:
            continue
        period = period_of([who for _, who in ends])
        whole = [(ends[i][0], ends[i + period][0]) for i in range(len(ends) - period)]
        if whole:
            return typical(whole[period - 1 :: period] or whole, count) + (len(ends) // period, period)
        return min([node for node in calls if node < ends[-1][0]] or [0]), ends[-1][0], 1, period
    if calls:
        windows = list(zip(calls, calls[1:] + [ids[-1]]))  # the last one lacks the next one's input, if no more
        return typical(windows[1:-1] or windows[:-1] or windows, count) + (len(windows), 1)
    found = repeated([node.look for node in nodes])
    if found:
        return ids[found[0]] - 1, ids[found[1]] - 1, found[2], 1
    return 0, ids[-1], 1, 1


def by_number(node):
    return node.id


def cut(text, labels):
    """The text of a trace with nothing in it but a step, None where it calls nothing; and what find_step says of steps."""
    head, nodes, tail = split(text)
    marks = sorted((node.id,) + labels[int(node.name[len(MARK):])] for node in nodes if node.name.startswith(MARK))
    roots = {node.id for node in nodes if node.name.endswith(("|thread]", "|process]"))}
    called = sorted((node for node in nodes if node.id not in roots and not node.name.startswith(MARK)), key=by_number)
    if not called:
        return None, 0, 1
    first, end, steps, period = find_step(marks, called)
    by_id = {node.id: node for node in nodes}
    wanted = {node.id for node in called if first < node.id <= end}
    kept = []
    for node in nodes:
        if node.id in wanted or node.id in roots:
            kept.append(node.text if node.parent in wanted or node.parent in roots else orphan(node, by_id, roots, wanted))
    return head + ",".join(kept) + tail, steps, period


def orphan(node, by_id, roots, wanted):
    """A node that lies within one that is not kept belongs to the next one around that is."""
    parent = node.parent
    while parent in by_id and parent not in wanted and parent not in roots and by_id[parent].parent != parent:
        parent = by_id[parent].parent
    if parent not in wanted and parent not in roots:
        parent = min(roots, default=node.id)
    return re.sub(r'"(parent|ctrl_deps)": \d+', r'"\1": %d' % parent, node.text, count=1)


# The observer, switched on from outside.


class Taker:
    def __init__(self, torch, folder):
        self.torch, self.pid = torch, os.getpid()
        self.path = os.path.join(folder, "torch.%d" % self.pid)
        self.lock = threading.RLock()
        self.labels, self.handles, self.network = [], [], None
        self.on, self.full, self.ended = False, False, threading.Event()
        self.steps_seen, self.steps, self.period = 0, 0, 1
        profiler, autograd = torch.profiler, torch.autograd
        self.marking = autograd._record_function_with_args_enter, autograd._record_function_with_args_exit
        self.kind = getattr(profiler, "ExecutionTraceObserver", None) or getattr(profiler, "ExecutionGraphObserver", None)
        if self.kind is None:
            raise RuntimeError("this PyTorch (%s) has no observer" % torch.__version__)

    def tell(self, ending, text):
        with open(self.path + ending, "w", encoding="utf-8") as file:
            file.write(text)

    def start(self):
        self.observer = self.kind()
        self.observer.register_callback(self.path + ".whole")
        if not getattr(self.observer, "_registered", True):
            raise RuntimeError("its observer could not be registered")
        self.watch_optimizers()
        self.watch_backward()
        self.watch_networks()
        self.give_way()
        os.register_at_fork(after_in_child=self.leave_child)
        self.end_with_program()
        self.observer.start()
        self.on = True
        self.tell(".trouble", "the program ended before its trace was written")
        threading.Thread(target=self.look, daemon=True).start()

    def end_with_program(self):
        before = os._exit

        @functools.wraps(before)
        def exit_at_once(status):
            self.end()
            before(status)

        os._exit = exit_at_once
        atexit.register(self.end)

    def watch_optimizers(self):
        """Each optimizer calls this at the end of its step, for PyTorch's own profiler."""
        taker, optimizer = self, self.torch.optim.Optimizer
        before = getattr(optimizer, "_optimizer_step_code", None)
        if before is None:
            return

        def step_code(this, *args, **kwargs):
            taker.mark(OPTIMIZER, id(this))
            return before(this, *args, **kwargs)

        optimizer._optimizer_step_code = step_code

    def watch_backward(self):
        autograd = self.torch.autograd
        before = autograd.backward

        @functools.wraps(before)
        def backward(*args, **kwargs):
            result = before(*args, **kwargs)
            self.mark(BACKWARD, 0)
            return result

        autograd.backward = backward

    def watch_networks(self):
        def called(module, _):
            if self.network is None:
                self.network = module
            if module is self.network:
                self.mark(NETWORK, 0)

        self.handles.append(self.torch.nn.modules.module.register_module_forward_pre_hook(called))

    def give_way(self):
        """PyTorch has one observer for each process: where the program wants it, it has it."""
        taker, before = self, self.kind.register_callback

        def register_callback(this, *args, **kwargs):
            if this is not taker.observer:
                taker.finish(why="the program takes an execution trace itself; leadline import pytorch-graph reads that")
            return before(this, *args, **kwargs)

        self.kind.register_callback = register_callback

    def leave_child(self):
        """A child has the observer, too, and must not write into its parent's file."""
        self.tell_of_child()
        if not self.on:
            return
        self.on = False
        self.remove_hooks()
        for name in os.listdir("/proc/self/fd"):
            try:
                if os.readlink("/proc/self/fd/" + name) == os.path.realpath(self.path + ".whole"):
                    null = os.open(os.devnull, os.O_WRONLY)
                    os.dup2(null, int(name), inheritable=False)
                    os.close(null)
            except OSError:
                pass
        self.observer.stop()

    def tell_of_child(self):
        with open("%s.%d.trouble" % (self.path[: self.path.rindex(".")], os.getpid()), "w") as file:
            file.write("the process was forked by one that had imported torch")

    def remove_hooks(self):
        for handle in self.handles:
            handle.remove()
        self.handles = []

    def mark(self, kind, who):
        if os.getpid() != self.pid:
            return
        self.steps_seen += kind == OPTIMIZER
        with self.lock:
            if not self.on:
                return
            self.labels.append((kind, who))
            enter, leave = self.marking
            leave(enter(MARK + str(len(self.labels) - 1)))
            if self.is_enough():
                self.finish()

    def size(self):
        try:
            return os.stat(self.path + ".whole").st_size
        except OSError:
            return 0

    def is_enough(self):
        """Steps of optimizers tell; backward passes, and calls of a network, may be a part of a step that has not ended."""
        steps = [who for kind, who in self.labels if kind == OPTIMIZER]
        rounds = len(steps) // period_of(steps) if steps else 0
        return rounds >= 2 and len(steps) >= ENOUGH_MARKS or rounds >= 3 and self.size() >= ENOUGH_BYTES

    def look(self):
        """On a thread of its own, and so it takes no observer away that another thread may be in."""
        while not self.ended.wait(LOOK_S) and self.on:
            if self.size() >= MOST_BYTES:
                with self.lock:
                    self.on = False
                    self.full = True
                    self.observer.stop()

    def finish(self, why=None):
        """Writes what there is, or why there is nothing; the program may go on."""
        with self.lock:
            self.on = False
            self.remove_hooks()
            if not self.observer:
                return
            self.observer.unregister_callback()
            self.observer = None
            try:
                if why is None:
                    why = self.write_step()
            except Exception as trouble:
                why = "%s: %s" % (type(trouble).__name__, trouble)
            if why:
                self.tell(".trouble", why)
            else:
                os.unlink(self.path + ".trouble")
            os.unlink(self.path + ".whole")

    def write_step(self):
        with open(self.path + ".whole", encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
        if self.full and self.steps_seen and not any(kind == OPTIMIZER for kind, _ in self.labels):
            return "what was called before the first step of an optimizer fills more than %d MiB" % (MOST_BYTES >> 20)
        step, self.steps, self.period = cut(text, self.labels)
        if step is None:
            self.tell(".none", "no operator of PyTorch was called")
            return None
        with open(self.path + ".json", "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(step)
        return None

    def end(self):
        if os.getpid() != self.pid or self.ended.is_set():
            return
        self.ended.set()
        self.finish()
        self.tell(".steps", "%d\n" % (self.steps_seen // self.period or self.steps))


def start(torch, folder):
    import torch.nn
    import torch.optim
    import torch.profiler

    Taker(torch, folder).start()
