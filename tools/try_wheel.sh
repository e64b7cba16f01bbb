#!/bin/sh
# Builds a wheel, checks its files, installs it in a new environment, and runs the tests in a folder without sources.
#
#   try_wheel.sh                                    builds a wheel in dist with the isolated build of pip
#   try_wheel.sh --wheel FILE                       takes a wheel that exists
#   try_wheel.sh --constraint FILE                  limits the versions of the dependencies
#
# PYTHON names the interpreter. A wheel for Python 3.12 works with all later versions; if PYTHON is
# older, a newer one is looked for. Further arguments go to pytest.
set -eu
cd "$(dirname "$0")/.."

wheel=''
constraint=''
PYTHON=${PYTHON:-python3}
while [ $# -gt 0 ]; do
    case $1 in
        --wheel) wheel=$2; shift 2 ;;
        --constraint) constraint=$2; shift 2 ;;
        *) break ;;
    esac
done

# The first interpreter for which a stable-ABI wheel can be built, else PYTHON.
newer() {
    for python in "$PYTHON" python3.12 python3.13 python3.14; do
        "$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null && echo "$python" && return
    done
    echo "There is no Python 3.12 or newer: this wheel works only with the version of $PYTHON." >&2
    echo "$PYTHON"
}

if [ -z "$wheel" ]; then
    python=$(newer)
    rm -rf dist
    "$python" -m pip wheel --quiet --no-deps --wheel-dir dist .
    wheel=$(echo dist/*.whl)
    echo "built $wheel"
else
    python=.venv/bin/python
fi

"$python" tools/check_wheel.py "$wheel"

folder=build/try-$(basename "${constraint:-wheel}" .txt)
new=$folder/venv/bin/python
rm -rf "$folder"
mkdir -p "$folder/tree"
"$python" -m venv "$folder/venv"
"$new" -m pip install --quiet --upgrade 'pip>=25.1'
"$new" -m pip install --quiet --group test --only-binary numpy,scipy,scikit-learn,pyarrow \
    ${constraint:+--constraint "$constraint"} "${wheel}[docs]"
"$new" -m pip list --format freeze | grep -iE '^(pocketsvm|numpy|scipy|scikit-learn|pandas|onnx)='

# Everything but the sources: the tests find only the installed package.
cp -R tests benchmarks docs examples tools pyproject.toml CITATION.cff LICENSE ./*.md "$folder/tree"
cd "$folder/tree"
MPLBACKEND=Agg exec ../venv/bin/python -m pytest -q -p no:cacheprovider -n 2 --dist worksteal \
    --ignore tests/test_imports.py --ignore tests/test_code_limits.py \
    --ignore tests/test_core_stub.py --ignore tests/test_tools.py "$@"
