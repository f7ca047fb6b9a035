# SPDX-License-Identifier: Apache-2.0
"""Conan 2: conan create packaging/conan"""
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir


class Warpfold(ConanFile):
    name = "warpfold"
    description = "Exact and fast parallel reductions on CPUs and GPUs"
    homepage = url = "https://github.com/warpfold/warpfold"
    license = "Apache-2.0"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "gpu": [True, False]}
    default_options = {"shared": False, "fPIC": True, "gpu": False}
    implements = ["auto_shared_fpic"]

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "..", "..", "include", "warpfold", "version.h"))
        self.version = ".".join(re.findall(r"^#define WARPFOLD_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header, re.M))

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "..", "..")
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*"):
            copy(self, pattern, root, self.export_sources_folder)

    def validate(self):
        check_min_cppstd(self, 20)

    def requirements(self):
        if self.options.gpu:
            self.requires("nlohmann_json/3.11.3")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({
            "WARPFOLD_CUDA": "ON" if self.options.gpu else "OFF", "WARPFOLD_INSTALL": True,
            "WARPFOLD_BUILD_TOOLS": False, "WARPFOLD_BUILD_TESTS": False})
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        rmdir(self, os.path.join(self.package_folder, "share"))

    def package_info(self):
        # The package's own warpfold-config.cmake is what find_package() finds.
        self.cpp_info.builddirs.append(os.path.join("lib", "cmake", "warpfold"))
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.libs = ["warpfold_io", "warpfold"]
        self.cpp_info.system_libs = ["m", "pthread"]
