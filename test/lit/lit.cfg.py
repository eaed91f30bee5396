# Part of Heddle, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# How lit runs the tests of this folder. Two parameters, given by CMakeLists.txt: build_dir and llvm_tools_dir. By hand:
#   lit -sv --param build_dir=build --param llvm_tools_dir=/usr/lib/llvm-22/bin test/lit/Transforms/group-kernels.mlir
import os
import shutil
import sys

import lit.formats

build = os.path.abspath(lit_config.params.get("build_dir", "build"))
llvm_tools = lit_config.params.get("llvm_tools_dir", "/usr/lib/llvm-22/bin")

config.name = "Heddle"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(build, "test", "lit")

config.environment["PATH"] = os.pathsep.join([os.path.join(build, "bin"), llvm_tools, config.environment.get("PATH", "")])
# What Vulkan and the sanitisers look at.
for name in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES", "LP_NUM_THREADS", "ASAN_OPTIONS", "UBSAN_OPTIONS", "HOME", "MESA_SHADER_CACHE_DIR"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
# Tests neither read nor fill the user's cache folder. Many compile the same models, so they share the code of kernels, which is
# kept by the kernel's text and the compiler's build; each reads the models themselves.
config.environment["XDG_CACHE_HOME"] = os.path.join(build, "test", "lit-cache")
config.environment["HEDDLE_CACHE_LIMIT"] = "1024"
config.environment["HEDDLE_MODEL_CACHE_LIMIT"] = "0"
mesa = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.environ.get("HOME", "/"), ".cache")
config.environment.setdefault("MESA_SHADER_CACHE_DIR", mesa)

# %{root}: the checkout; %{build}: the build folder; %{models}: descriptions of models; %{tokenizers}: folders with tokenizers;
# %{examples}: the examples; %{python}: the interpreter that runs lit.
tests = os.path.dirname(config.test_source_root)
root = os.path.dirname(tests)
config.substitutions.append(("%{root}", root))
config.substitutions.append(("%{build}", build))
config.substitutions.append(("%{folders}", os.path.join(tests, "data", "folders")))
config.substitutions.append(("%{retrieval}", os.path.join(tests, "data", "retrieval")))
config.substitutions.append(("%{models}", os.path.join(tests, "data", "models")))
config.substitutions.append(("%{tokenizers}", os.path.join(tests, "data", "tokenizers")))
config.substitutions.append(("%{python}", sys.executable))
config.substitutions.append(("%{examples}", os.path.join(root, "examples")))

# Pages are opened in a real browser where there is one.
if shutil.which("chromium"):
    config.available_features.add("chromium")

# The formatter of the version that the project's files have the format of.
if shutil.which("clang-format-22"):
    config.available_features.add("clang-format")

# Mesa's driver for AMD, which compiles without a GPU.
if os.path.isfile("/usr/share/vulkan/icd.d/radeon_icd.x86_64.json"):
    config.available_features.add("amd-compiler")

# Sid's drivers with stand-ins of their GPUs, where scripts/drivers unpacked them: %{sid}.
sid = os.path.join(os.environ.get("HEDDLE_DRIVERS", "/tmp/heddle-drivers"), "sid")
if os.path.isfile(os.path.join(sid, "with-shim")):
    config.available_features.add("gpu-shims")
    config.substitutions.append(("%{sid}", sid))

# A machine without a Vulkan driver skips the tests that need one.
drivers = os.environ.get("VK_DRIVER_FILES") or os.environ.get("VK_ICD_FILENAMES") or "/usr/share/vulkan/icd.d"
if os.path.isfile(drivers) or (os.path.isdir(drivers) and os.listdir(drivers)):
    config.available_features.add("vulkan")
