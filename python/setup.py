# SPDX-License-Identifier: Apache-2.0
"""What pyproject.toml cannot say: the library and the machines go into the wheel, whose platform is this one's.

LEADLINE_BUILD names the build tree (../build/release)."""
import os
import re
import shutil

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BUILD = os.environ.get("LEADLINE_BUILD", os.path.join(ROOT, "build", "release"))


def version():
    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
        return re.search(r"project\(leadline VERSION ([0-9.]+)", file.read()).group(1)


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        package = os.path.join(self.build_lib, "leadline")
        library = os.path.join(BUILD, "sim", "api", "libleadline.so.0")
        if not os.path.exists(library):
            raise SystemExit(f"{library} is not there: build the tree first, or name its build by LEADLINE_BUILD")
        shutil.copyfile(library, os.path.join(package, "libleadline.so.0"))
        shutil.copyfile(os.path.join(HERE, "leadline", "py.typed"), os.path.join(package, "py.typed"))
        shutil.copytree(os.path.join(ROOT, "hwconfigs"), os.path.join(package, "share", "leadline", "hwconfigs"),
                        dirs_exist_ok=True)


class OfThisPlatform(Distribution):
    def has_ext_modules(self):
        return True


class WheelOfThisPlatform(bdist_wheel):
    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


setup(version=version(), distclass=OfThisPlatform, cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": WheelOfThisPlatform})
