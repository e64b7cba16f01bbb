# Everything lives in .venv and build; each target sets up what it needs.

PYTHON ?= python3
ifeq ($(origin CXX),default)
CXX := c++
endif
export CXX
export MPLBACKEND := Agg

CHECK := tools/check_machine.sh
PY := .venv/bin/python
CMAKE := MAKEFLAGS= PATH="$(CURDIR)/.venv/bin:$$PATH" .venv/bin/cmake

BUILD_TOOLS := .venv/.build-tools
TOOLS := .venv/.tools
PACKAGE := .venv/.package
SECONDS ?= 60
FREE ?= python3.14t
ARM_CXX ?= aarch64-linux-gnu-g++
QEMU ?= qemu-aarch64
WINDOWS_CXX ?= x86_64-w64-mingw32-g++-posix
WINE ?= $(or $(shell command -v wine64 || command -v wine),/usr/lib/wine/wine64)
ECOSYSTEM_TESTS := tests/rows/test_arrow_streams.py tests/rows/test_remote.py tests/test_mlflow.py \
    tests/test_onnx.py tests/test_skops.py
NATIVE_SOURCES := $(shell find native -name '*.?pp')
PYTHON_SOURCES := $(shell find src -name '*.py' -o -name '*.pyi')

# The output of parallel targets is not mixed, if this make can do that.
SYNC := $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

.DEFAULT_GOAL := help
.PHONY: help demo test pytest torch-test gpu-test native-test sanitize-test tsan tsan-python ecosystem fuzz arm windows bench pages study docs site wheel test-oldest lint format clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' Makefile

demo: $(PACKAGE) ## train all strategies on generated data: a table, and demo/boundary.png
	$(PY) examples/demo.py

test: ## all checks: lint, native tests (also sanitized), pytest; two at a time
	$(MAKE) --no-print-directory -j2 $(SYNC) sanitize-test lint native-test pytest

pytest: $(PACKAGE) ## the Python tests, in parallel; make pytest ARGS="-k merge -x" passes arguments on
	$(PY) -m pytest -n auto --dist worksteal $(ARGS)

torch-test: $(PACKAGE) ## the tests of backends with PyTorch on the CPU; TORCH=FOLDER has it, if .venv does not
	PYTHONPATH="$(TORCH)" $(PY) -m pytest -rs tests/backends tests/estimators/test_namespaces.py tests/cli/test_device.py -k "not cuda" $(ARGS)

gpu-test: $(PACKAGE) ## the tests of backends with PyTorch on a GPU; TORCH=FOLDER has it, if .venv does not
	PYTHONPATH="$(TORCH)" $(PY) -m pytest -rs tests/backends tests/estimators/test_namespaces.py tests/cli/test_device.py -k cuda $(ARGS)

native-test: $(PACKAGE) ## the native unit tests
	$(CMAKE) --build build/extension --target native_tests
	build/extension/native_tests

sanitize-test: $(BUILD_TOOLS) ## the native unit tests under the address and undefined-behaviour sanitizers
	@$(CHECK) compiler "$(CXX)"
	@$(CHECK) sanitizers "$(CXX)"
	$(CMAKE) -S . -B build/sanitize -G Ninja -D CMAKE_BUILD_TYPE=Debug \
	    -D NATIVE_TESTS_ONLY=ON -D SANITIZE=address,undefined
	$(CMAKE) --build build/sanitize --target native_tests
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 build/sanitize/native_tests

tsan: $(BUILD_TOOLS) ## the native unit tests under the thread sanitizer
	@$(CHECK) compiler "$(CXX)"
	@$(CHECK) thread_sanitizer "$(CXX)"
	$(CMAKE) -S . -B build/tsan -G Ninja -D CMAKE_BUILD_TYPE=Debug \
	    -D NATIVE_TESTS_ONLY=ON -D SANITIZE=thread
	$(CMAKE) --build build/tsan --target native_tests
	TSAN_OPTIONS=halt_on_error=1 build/tsan/native_tests

tsan-python: $(BUILD_TOOLS) ## fits side by side under the thread sanitizer; FREE=PYTHON is one without the GIL
	@$(CHECK) thread_sanitizer "$(CXX)"
	tools/tsan_python.sh "$(FREE)" $(ARGS)

ecosystem: $(PACKAGE) ## the tests of libraries that few tests need: ibis, S3, skl2onnx, MLflow, skops
	$(PY) -m pip install --quiet --group ecosystem
	$(PY) -m pytest $(ECOSYSTEM_TESTS) $(ARGS)

fuzz: $(PACKAGE) ## fuzz the readers of LIBSVM text, model files, checkpoints and tables, SECONDS=60 each
	@$(CHECK) sanitizers "$(CXX)"
	$(CMAKE) -S . -B build/fuzz -G Ninja -D CMAKE_BUILD_TYPE=Debug \
	    -D NATIVE_TESTS_ONLY=ON -D SANITIZE=address,undefined
	$(CMAKE) --build build/fuzz --target fuzz_svmlight
	mkdir -p build/fuzz/texts
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 build/fuzz/fuzz_svmlight \
	    -max_total_time=$(SECONDS) -artifact_prefix=build/fuzz/ build/fuzz/texts native/fuzz/corpus
	-$(PY) -m pip install --quiet --group fuzz
	$(PY) tools/fuzz_models.py $(SECONDS) build/fuzz
	$(PY) tools/fuzz_files.py $(SECONDS) build/fuzz

arm: $(TOOLS) ## the native unit tests for 64-bit ARM, cross-compiled and run under qemu
	@$(CHECK) arm "$(ARM_CXX)" "$(QEMU)"
	@$(MAKE) --no-print-directory native-test
	$(CMAKE) -S . -B build/arm -G Ninja -D CMAKE_BUILD_TYPE=Release -D NATIVE_TESTS_ONLY=ON \
	    -D CMAKE_SYSTEM_NAME=Linux -D CMAKE_SYSTEM_PROCESSOR=aarch64 \
	    -D CMAKE_CXX_COMPILER="$(ARM_CXX)" -D CMAKE_EXE_LINKER_FLAGS=-static
	$(CMAKE) --build build/arm --target native_tests
	$(QEMU) build/arm/native_tests $$(build/extension/native_tests | sed -n 's/^core: avx2, models //p')

windows: $(TOOLS) ## the native unit tests for Windows, cross-compiled by mingw-w64 and run under wine
	@$(CHECK) windows "$(WINDOWS_CXX)" "$(WINE)"
	@$(MAKE) --no-print-directory native-test
	$(CMAKE) -S . -B build/windows -G Ninja -D CMAKE_BUILD_TYPE=Release -D NATIVE_TESTS_ONLY=ON \
	    -D CMAKE_SYSTEM_NAME=Windows -D CMAKE_SYSTEM_PROCESSOR=AMD64 \
	    -D CMAKE_CXX_COMPILER="$(WINDOWS_CXX)" -D CMAKE_EXE_LINKER_FLAGS=-static
	$(CMAKE) --build build/windows --target native_tests
	WINEDEBUG=-all $(WINE) build/windows/native_tests.exe \
	    $$(build/extension/native_tests | sed -n 's/^core: avx2, models //p')

bench: $(PACKAGE) ## measure what this commit has not measured, in parts; ARGS="--only solver --again"
	$(PY) -m benchmarks $(ARGS)

pages: $(PACKAGE) ## write the pages of the benchmarks, and tables in other pages, from benchmarks/results
	$(PY) -m benchmarks --only none

study: $(PACKAGE) ## compare settings of training on held-out training rows, and write docs/study.md
	$(PY) -m benchmarks.study_pages $(ARGS)

docs: $(PACKAGE) ## write the command-line page and the pictures again; those of data sets need $$POCKETSVM_DATA
	$(if $(POCKETSVM_DATA),$(PY) tools/model_size.py docs/images/model-size.png)
	$(PY) tools/command_page.py docs/command-line.md
	for page in tutorial command-line-tutorial merging parameters feature-scales probabilities quantiles novelty; do \
	  $(PY) tools/examples.py docs/$$page.md docs/images || exit 1; \
	done
	PYTHONPATH=examples $(PY) -c 'import demo; demo.draw_boundary(demo.Path("docs/images/boundary.png"))'

site: $(PACKAGE) ## build the site in build/site: run the gallery, check all links; warnings are errors
	$(PY) tools/gallery.py build/gallery
	$(PY) tools/live_picture.py build/live/live.js
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --quiet --strict
	$(PY) tools/check_site.py build/site

wheel: ## build a wheel in dist, and run the tests with it in a new environment
	PYTHON="$(PYTHON)" tools/try_wheel.sh $(ARGS)

test-oldest: $(PACKAGE) ## the Python tests with the oldest supported version of every dependency
	rm -rf build/oldest
	$(PY) -m pip wheel --quiet --no-deps --no-build-isolation --config-settings build-dir=build/extension \
	    --wheel-dir build/oldest .
	$(PY) tools/oldest.py >build/oldest/constraints.txt
	tools/try_wheel.sh --wheel build/oldest/*.whl --constraint build/oldest/constraints.txt \
	    -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning \
	    -W ignore::pytest.PytestRemovedIn10Warning $(ARGS)

lint: $(TOOLS) ## check style, formatting and types, change nothing
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(if $(NATIVE_SOURCES),.venv/bin/clang-format --dry-run -Werror $(NATIVE_SOURCES))

format: $(TOOLS) ## format all sources and fix what can be fixed
	$(PY) -m ruff check --fix-only .
	$(PY) -m ruff format .
	$(if $(NATIVE_SOURCES),.venv/bin/clang-format -i $(NATIVE_SOURCES))

clean: ## remove all that was made, .venv included
	rm -rf .venv build dist demo reproduction .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src benchmarks tests examples -name __pycache__ -prune -exec rm -r {} +

# What the build needs, and then all development tools, from pyproject's dependency groups.
$(BUILD_TOOLS): pyproject.toml
	@$(PY) -m pip --version >/dev/null 2>&1 || $(CHECK) python "$(PYTHON)"
	$(PY) -m pip --version >/dev/null 2>&1 || "$(PYTHON)" -m venv --clear .venv
	$(PY) -m pip install --quiet --upgrade 'pip>=25.1'
	$(PY) -m pip install --quiet --group build
	@touch $@

$(TOOLS): $(BUILD_TOOLS)
	@echo "installing the development tools in .venv: a minute or two"
	$(PY) -m pip install --quiet --group dev
	@touch $@

# The package, editable: Python edits count at once, native ones at the next make.
$(PACKAGE): $(TOOLS) CMakeLists.txt $(NATIVE_SOURCES) $(PYTHON_SOURCES)
	@$(CHECK) compiler "$(CXX)"
	@echo "compiling pocketsvm: the first time, this takes minutes; later, only what has changed"
	$(PY) -m pip install --quiet --no-build-isolation --check-build-dependencies \
	    --config-settings build-dir=build/extension --editable '.[experiments]'
	@touch $@
