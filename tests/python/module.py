# SPDX-License-Identifier: Apache-2.0
"""module.py PROGRAM: the module as a researcher uses it. What it says is compared with what the program prints."""
import doctest
import json
import math
import os
import re
import runpy
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import leadline

PROGRAM = sys.argv.pop(1)
TRACE = "traces/alexnet_infer_b1.llt"


def printed(*words):
    return subprocess.run([PROGRAM, *words], check=True, capture_output=True, text=True).stdout


def has(module):
    try:
        __import__(module)
        return True
    except ImportError:
        return False


class Simulations(unittest.TestCase):
    def setUp(self):
        self.trace = leadline.Trace(TRACE)

    def test_the_document_is_the_programs(self):
        result = leadline.simulate(self.trace, "custom_example", what_if=True)
        self.assertEqual(result.json_text, printed("sim", "-c", "custom_example", "--what-if", "--json", TRACE))
        self.assertEqual(result.time_s, result["time_s"])
        self.assertGreater(result["by_kind.conv2d.time_s"], 0)
        self.assertIn("custom_example", str(result))

    def test_what_is_wrong_is_an_error_that_says_it(self):
        with self.assertRaisesRegex(leadline.InputError, "did you mean `custom_example`"):
            leadline.Machine("custom_exampel")
        with self.assertRaisesRegex(leadline.Error, "no/such.llt"):
            leadline.Trace("no/such.llt")
        with self.assertRaisesRegex(leadline.InputError, "what-if"):
            leadline.simulate(self.trace, "custom_example", wath_if=True)
        with self.assertRaisesRegex(AttributeError, "time_s"):
            leadline.simulate(self.trace, "custom_example").tiem_s

    def test_a_machine_is_changed_by_making_another(self):
        base = leadline.Machine("custom_example")
        faster = base.with_({"memory.hbm.bandwidth": "2TB/s"})
        times = [leadline.simulate(self.trace, machine).time_s for machine in (base, faster, base)]
        self.assertEqual(times[0], times[2])
        self.assertLess(times[1], times[0])

    def test_a_trace_is_changed_by_making_another(self):
        larger = self.trace.change(batch=8)
        self.assertEqual(leadline.simulate(larger, "custom_example").time_s,
                         leadline.simulate(self.trace, "custom_example", batch=8).time_s)

    def test_a_recorded_model_is_the_programs(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "memnet.llt")
            printed("record", "memnet", "--dry-run", "--infer", "-o", path)
            recorded = leadline.Trace.record("memnet", infer=True)
            self.assertEqual(leadline.simulate(recorded, "custom_example").time_s,
                             leadline.simulate(path, "custom_example").time_s)

    def test_a_sweep_has_a_row_for_each_design(self):
        found = leadline.sweep(self.trace, "custom_example", {"units.array.rows": [32, 64], "clock": ["1GHz", "2GHz"]})
        self.assertEqual(len(found), 4)
        self.assertEqual(found[3][0], {"units.array.rows": 64, "clock": "2GHz"})
        self.assertLess(found[3][1]["time_s"], found[2][1]["time_s"])
        self.assertIn("<td>2GHz</td>", found._repr_html_())

    def test_threads_find_the_same(self):
        expected, found = leadline.simulate(self.trace, "custom_example").json_text, []
        threads = [threading.Thread(target=lambda: found.append(
            leadline.simulate(self.trace, "custom_example").json_text)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [expected] * 4)

    def test_a_page_for_notebooks_shows_numbers_and_kinds(self):
        page = leadline.simulate(self.trace, "custom_example")._repr_html_()
        self.assertIn("<td>time_s</td>", page)
        self.assertIn("<td>conv2d</td>", page)

    @unittest.skipUnless(has("pandas"), "pandas is not installed")
    def test_frames(self):
        result = leadline.simulate(self.trace, "custom_example", per_op=True)
        self.assertEqual(set(result.to_pandas("by_kind")["kind"]), {one["kind"] for one in result.by_kind})
        self.assertEqual(len(result.to_pandas("ops")), len(result.ops))
        frame = leadline.sweep(self.trace, "custom_example", {"clock": ["1GHz", "2GHz"]}).to_pandas()
        self.assertEqual(list(frame["clock"]), ["1GHz", "2GHz"])
        with self.assertRaisesRegex(KeyError, "by_kind"):
            result.to_pandas("by_kidn")


class Builders(unittest.TestCase):
    OPS = [("matmul", ["64x512:bf16", "512x256:bf16"], "64x256:bf16", {}),
           ("conv2d", ["8x28x28x64:f16", "3x3x64x128:f16"], "8x14x14x128:f16",
            {"stride_h": 2, "stride_w": 2, "pad_top": 1, "pad_left": 1, "pad_bottom": 1, "pad_right": 1}),
           ("add", ["64x256:f32", "64x256:f32"], "64x256:f32", {}),
           ("exp", ["1024x1000:f32"], "1024x1000:f32", {}),
           ("batch_matmul", ["12x64x128:bf16", "12x32x128:bf16"], "12x64x32:bf16", {"transpose_b": 1}),
           ("cast", ["64x256:f32"], "64x256:bf16", {})]

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def test_a_built_trace_is_the_one_that_rows_become(self):
        with open(self.path("rows.csv"), "w", encoding="utf-8") as file:
            file.write("source,hardware,op,dtype,dims,time_s,notes\n")
            for kind, reads, makes, attributes in self.OPS:
                more = "".join(f";{key}={value}" for key, value in attributes.items())
                file.write(f"test,none,{kind},fp32,in={'+'.join(reads)};out={makes}{more},,\n")
        step, last = leadline.Trace.build("rows"), []
        for kind, reads, makes, attributes in self.OPS:
            inputs = [step.tensor(shape) for shape in reads]
            last = [step.op(kind, *inputs, out=makes, after=last, scope=kind, **attributes)]
            self.assertEqual(step.shape(last[0]), makes)
        rows, built = leadline.Trace.import_(self.path("rows.csv"), "csv"), step.close()
        for machine in ("custom_example", "h100_sxm"):
            first, second = (dict(leadline.simulate(trace, machine, per_op=True).document["results"][0])
                             for trace in (rows, built))
            self.assertEqual([second.pop("trace"), second["model"]], ["rows", "rows"])
            first.pop("trace")
            self.assertEqual(first, second)

    def test_what_an_op_waits_for_follows_from_what_it_reads(self):
        step = leadline.Trace.build("net", train=True, batch=64)
        x = step.tensor((64, 512), "bf16", roles=["batch", "hidden"], name="x")
        first, second = (step.tensor((512, 512), "bf16", class_="weight") for _ in range(2))
        left, right = step.op("matmul", x, first), step.op("matmul", x, second, transpose_b=True)
        parts = step.op("split", step.op("add", left, right, phase="backward", class_="gradient"), axis=1, parts=2)
        step.op("all_reduce", parts.outputs[1], after=[left, right], devices=8, phase="comm", time="12us")
        self.assertEqual([step.shape(one) for one in parts.outputs], ["64x256:bf16"] * 2)
        with self.assertRaisesRegex(ValueError, "makes 2 tensors"):
            step.op("relu", parts)
        trace = step.close()
        trace.write(self.path("net.llt"))
        ops = [json.loads(line) for line in printed("dump", self.path("net.llt")).splitlines()]
        self.assertEqual([op["deps"] for op in ops], [[], [], [0, 1], [2], [0, 1, 3]])
        self.assertEqual([op["duration_ns"] for op in ops], [0, 0, 0, 0, 12000])
        self.assertEqual([one["class"] for one in ops[0]["inputs"]], ["input", "weight"])
        self.assertEqual(ops[2]["outputs"][0]["class"], "gradient")
        self.assertEqual(ops[2]["outputs"][0]["roles"], ["batch", ""])
        gemms = [leadline.simulate(trace, "custom_example", batch=batch)["by_kind.matmul.flops"] for batch in (64, 128)]
        self.assertEqual(gemms, [2 * 2 * batch * 512 * 512 for batch in (64, 128)])
        with self.assertRaisesRegex(leadline.InputError, "closed"):
            step.tensor("4:f32")

    def test_a_mistake_is_said_and_stays(self):
        mistakes = [(lambda step: step.tensor("4x4"), "64x128:bf16"),
                    (lambda step: step.tensor("4x4:f33"), "there is no `f33`"),
                    (lambda step: step.tensor((2,) * 9), "up to 8 dimensions"),
                    (lambda step: step.tensor((4, 4), roles=["batch"] * 3), "2 dimensions"),
                    (lambda step: step.tensor((4, 4), class_="wieght"), "there is no `wieght`"),
                    (lambda step: step.tensor((4, 4), phase="forward"), "no option `phase`"),
                    (lambda step: step.tensor((1 << 62, 8)), "64 bits"),
                    (lambda step: step.op("matmull", 0, 0), "did you mean `matmul`"),
                    (lambda step: step.op("matmul", 0, 1), "there is no tensor 1"),
                    (lambda step: step.op("matmul", 0), "number of inputs"),
                    (lambda step: step.op("relu", 0, out=((4, 5), "f32")), "make 4x4:f32"),
                    (lambda step: step.op("relu", 0, after=7), "after=7"),
                    (lambda step: step.op("matmul", 0, 0, transposeb=1), "did you mean `transpose_b`"),
                    (lambda step: step.op("relu", 0, time="5GB"), "expected a time"),
                    (lambda step: step.close(), "no op in it")]
        for mistake, words in mistakes:
            step = leadline.Trace.build("wrong")
            step.tensor("4x4:f32")
            with self.assertRaisesRegex(leadline.InputError, words):
                mistake(step)
            with self.assertRaisesRegex(leadline.InputError, words):
                step.op("relu", 0)
        with self.assertRaisesRegex(leadline.InputError, "train"):
            leadline.Trace.build("wrong", trian=True)


class OtherQuestions(unittest.TestCase):
    def test_any_command_runs(self):
        self.assertIn("Example accelerator", [machine["name"] for machine in leadline.machines()])
        self.assertIn("resnet", [model["name"] for model in leadline.models()])
        self.assertTrue(any(os.path.isdir(folder) for folder in leadline.folders()))

    def test_a_server_is_the_programs(self):
        result = leadline.serve("h100_sxm+vllm", "llama3.1-8b", rate=2, num_prompts=20)
        self.assertEqual(result.json_text, printed("serve", "-c", "h100_sxm+vllm", "--model", "llama3.1-8b", "--rate", "2",
                                                   "--num-prompts", "20", "--json"))
        self.assertEqual(result["ttft_s.p99"], result.ttft_s["p99"])

    def test_a_plan_is_the_programs(self):
        result = leadline.plan(TRACE, "dgx_v100", devices=2, batch=2, simulate=1)
        self.assertEqual(result.json_text, printed("plan", "-c", "dgx_v100", "--devices", "2", "--batch", "2",
                                                   "--simulate", "1", "--json", TRACE))


class Spaces(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        path = os.path.join(self.folder.name, "space.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"name: arrays\nbase: custom_example\ntraces: [{os.path.abspath(TRACE)}]\nvary:\n"
                       "  units.array.rows: [16, 32, 64, 128]\n  units.array.cols: [16, 32, 64, 128]\n"
                       "objectives: [min time_s, max flop_utilization]\n")
        self.space = leadline.Space(path)

    def test_a_point_is_asked_for_by_values_or_by_number(self):
        values = {"units.array.rows": 64, "units.array.cols": 16}
        self.assertEqual(len(self.space), 16)
        self.assertEqual(self.space.number_of(values), 8)
        self.assertEqual(self.space.point(values).json_text, self.space.point(8).json_text)
        self.assertEqual(self.space.directions(), ["minimize", "maximize"])

    def test_ask_and_tell_find_the_best(self):
        time_of = {i: self.space.evaluate(i)[0] for i in range(16)}
        search = leadline.Search(self.space.parameters, seed=3, beginning=4)
        while (values := search.ask()) is not None:
            search.tell(values, [self.space.evaluate(values)[0]])
        self.assertEqual(search.front()[0][1][0], min(time_of.values()))

    @unittest.skipUnless(has("optuna"), "optuna is not installed")
    def test_optuna_asks_and_is_told(self):
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = optuna.create_study(directions=self.space.directions(), sampler=optuna.samplers.RandomSampler(seed=1))
        for _ in range(8):
            trial = study.ask()
            study.tell(trial, self.space.evaluate(self.space.suggest(trial)))
        self.assertTrue(study.best_trials)


@unittest.skipUnless(has("torch"), "torch is not installed")
class Torch(unittest.TestCase):
    def test_a_module_becomes_a_trace(self):
        import torch

        model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
        trace = leadline.Trace.from_torch(model, torch.zeros(32, 64))
        flops = leadline.simulate(trace, "custom_example", as_="bf16").flops
        gemms = 2 * 32 * (64 * 128 + 128 * 10)
        self.assertGreaterEqual(flops, gemms)
        self.assertLess(flops, 1.1 * gemms)  # biases and the ReLU are the rest
        trained = leadline.Trace.from_torch(model, torch.zeros(32, 64), backward=True)
        self.assertGreater(leadline.simulate(trained, "custom_example", as_="bf16").flops, 2 * gemms)


def blocks_of(page):
    with open(page, encoding="utf-8") as file:
        return re.findall(r"^```python\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)


class Pages(unittest.TestCase):
    @unittest.skipUnless(has("pandas") and has("matplotlib") and has("optuna"), "pandas, matplotlib or optuna is not installed")
    def test_what_the_page_of_the_library_shows_runs(self):
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        seen = {}
        for block in blocks_of("docs/library.md"):
            exec(block, seen)
        self.assertEqual(len(seen["study"].trials), 10)

    def test_what_docstrings_show_runs(self):
        shown = 0
        for thing in (leadline, leadline.Builder):
            seen = {"leadline": leadline}
            for example in doctest.DocTestParser().get_examples(thing.__doc__.replace(".to_pandas()", "")):
                exec(example.source, seen)
                shown += 1
        self.assertEqual(shown, 10)

    @unittest.skipUnless(has("pandas") and has("matplotlib"), "pandas or matplotlib is not installed")
    def test_the_example_draws_its_sweep(self):
        with tempfile.TemporaryDirectory() as folder:
            path, words = os.path.join(folder, "sweep.png"), sys.argv
            sys.argv = ["sweep_and_plot.py", path]
            try:
                seen = runpy.run_path("examples/sweep_and_plot.py")
            finally:
                sys.argv = words
            with open(path, "rb") as file:
                self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")
        self.assertEqual(len(seen["found"]), 10)


class Notebook(unittest.TestCase):
    def test_the_notebook_answers_its_questions(self):
        with open("examples/three_questions.ipynb", encoding="utf-8") as file:
            cells = ["".join(cell["source"]) for cell in json.load(file)["cells"] if cell["cell_type"] == "code"]
        seen = {}
        for cell in cells:
            exec(cell, seen)
        self.assertAlmostEqual(sum(seen["step"].bottlenecks.values()), 1)
        self.assertEqual(seen["best"][0], {"units.array.rows": 128, "memory.hbm.bandwidth": "1800GB/s"})
        self.assertLess(seen["held"]["ttft_s.p99"], 0.5)
        self.assertGreater(seen["held"].found_rate, 0)


class Overhead(unittest.TestCase):
    def test_a_call_costs_little_more_than_the_library_does(self):
        """Of a machine that there is not the library makes nothing: what is left is what Python takes."""
        trace, machine = leadline.Trace(TRACE), leadline.Machine.__new__(leadline.Machine)
        best = math.inf
        for _ in range(20):
            begin = time.perf_counter()
            for _ in range(50):
                try:
                    leadline.simulate(trace, machine, what_if=True, batch=1)
                except leadline.InputError:
                    pass
            best = min(best, (time.perf_counter() - begin) / 50)
        self.assertLess(best, 50e-6)


if __name__ == "__main__":
    unittest.main()
