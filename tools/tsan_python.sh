#!/bin/sh
# Runs fits, predictions and callbacks side by side under the thread sanitizer, in a Python without
# the GIL. CONTRIBUTING.md says how to build it; pocketsvm and pytest are installed in it.
#
#   tools/tsan_python.sh PYTHON [ARGUMENTS OF PYTEST]
set -eu

python=$1
shift
build=build/tsan-python
venv=$PWD/.venv/bin
PATH="$venv:$PATH" cmake -S . -B $build -G Ninja -D CMAKE_BUILD_TYPE=Debug -D SANITIZE=thread \
    -D Python_EXECUTABLE="$(command -v "$python")" \
    -D nanobind_DIR="$("$venv/python" -m nanobind --cmake_dir)"
PATH="$venv:$PATH" cmake --build $build --target _core
rm -rf $build/root
mkdir -p $build/root
cp -r src/pocketsvm $build/root/
rm -f $build/root/pocketsvm/_core*.so
cp $build/_core*.so $build/root/pocketsvm/

# Python, NumPy and SciPy are not instrumented: only what our module does is reported.
TSAN_OPTIONS="exitcode=66 ignore_noninstrumented_modules=1" \
    LD_PRELOAD="$(${CXX:-c++} -print-file-name=libtsan.so)" PYTHONPATH=$build/root \
    OPENBLAS_NUM_THREADS=1 "$python" -m pytest -q -s -p no:cacheprovider -n 0 \
    "${@:-tests/estimators/test_side_by_side.py}"
echo "the thread sanitizer reports nothing"
