#!/bin/sh
# Says what this machine lacks to build pocketsvm, and the command that would help.
#
#   check_machine.sh python PYTHON      Python 3.11 or newer with venv, pip and its headers
#   check_machine.sh compiler CXX       a C++20 compiler that links
#   check_machine.sh sanitizers CXX     its address and undefined-behaviour sanitizers
#   check_machine.sh thread_sanitizer CXX
#   check_machine.sh arm CXX QEMU       a cross compiler for 64-bit ARM, and what runs its programs
#   check_machine.sh windows CXX WINE   the same for Windows
set -u

has() { command -v "$1" >/dev/null 2>&1; }

# The command that installs a package, by its names for apt, dnf, Alpine, Arch and macOS.
advice() {
    if has apt-get; then echo "    sudo apt-get install $1"
    elif has dnf; then echo "    sudo dnf install $2"
    elif has apk; then echo "    sudo apk add $3"
    elif has pacman; then echo "    sudo pacman -S $4"
    elif [ "$(uname)" = Darwin ]; then echo "    $5"
    else echo "    (with your package manager: $1, or what it is called there)"
    fi
}

missing() {
    echo
    echo "pocketsvm cannot be built here: $1"
    shift
    for line in "$@"; do echo "$line"; done
    echo
    exit 1
} >&2

check_python() {
    python=$1
    has "$python" ||
        missing "there is no '$python'." \
            "Install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3" \
            "$(advice python3 python3 python3 python 'brew install python')"

    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        missing "'$python' is Python $version; 3.11 or newer is needed." \
            "If a newer one is installed, name it: make PYTHON=python3.12"

    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        missing "Python $version lacks its 'venv' or 'ensurepip' module." \
            "$(advice "python$version-venv" python3 python3 python 'brew install python')"

    "$python" -c '
import pathlib, sys, sysconfig
sys.exit(not pathlib.Path(sysconfig.get_path("include"), "Python.h").is_file())' ||
        missing "Python $version lacks its C headers (Python.h)." \
            "$(advice "python$version-dev" python3-devel python3-dev python 'brew install python')"
}

# Compiles and links standard input as C++20, with further flags.
builds() {
    folder=$(mktemp -d) || exit 1
    # shellcheck disable=SC2086  # CXX may hold flags
    $CXX -std=c++20 "$@" -x c++ - -o "$folder/probe" >"$folder/log" 2>&1
    status=$?
    rm -r "$folder"
    return $status
}

check_compiler() {
    CXX=$1
    # shellcheck disable=SC2086
    set -- $CXX
    has "${1:-}" ||
        missing "there is no C++ compiler '${1:-}'." \
            "Install GCC 12 or Clang 14, or newer, or name one: make CXX=clang++" \
            "$(advice g++ gcc-c++ g++ gcc 'xcode-select --install')"

    builds <<'PROBE' ||
#include <bit>
#include <concepts>
#include <cstdint>
#include <numbers>
#include <span>
typedef float lanes __attribute__((vector_size(16)));
template <std::floating_point T> T sum(std::span<const T> x) { T s{}; for (T v : x) s += v; return s; }
int main() {
    const float x[] = {1, 2};
    lanes ones = lanes{} + 1.0f;
    ones = ones > 0.0f ? ones : __builtin_shufflevector(ones, ones, 3, 2, 1, 0);
    return std::popcount(std::uint32_t(sum(std::span<const float>(x)) + ones[0])) + int(std::numbers::pi) - 4;
}
PROBE
        missing "'$CXX' cannot build a C++20 program with vector extensions." \
            "It is: $($CXX --version 2>&1 | head -n 1)" \
            "Install GCC 12 or Clang 14, or newer, or name one: make CXX=clang++" \
            "$(advice g++ gcc-c++ g++ gcc 'xcode-select --install')"
}

check_sanitizers() {
    CXX=$1
    echo 'int main() {}' | builds -fsanitize=address,undefined ||
        missing "'$CXX' cannot link the address and undefined-behaviour sanitizers." \
            "$(advice g++ 'libasan libubsan' g++ gcc 'xcode-select --install')"
}

check_thread_sanitizer() {
    CXX=$1
    echo 'int main() {}' | builds -fsanitize=thread ||
        missing "'$CXX' cannot link the thread sanitizer." \
            "$(advice g++ libtsan g++ gcc 'xcode-select --install')"
}

check_arm() {
    for tool in "$@"; do
        has "$tool" ||
            missing "for ARM, there is no '$tool'." \
                "make arm needs a cross compiler and qemu; on Debian and Ubuntu:" \
                "    sudo apt-get install g++-aarch64-linux-gnu qemu-user" \
                "Others can be named: make arm ARM_CXX=... QEMU=..."
    done
}

check_windows() {
    for tool in "$@"; do
        has "$tool" ||
            missing "for Windows, there is no '$tool'." \
                "make windows needs a cross compiler and wine; on Debian and Ubuntu:" \
                "    sudo apt-get install g++-mingw-w64-x86-64 wine64" \
                "Others can be named: make windows WINDOWS_CXX=... WINE=..."
    done
}

case ${1:-} in
    python | compiler | sanitizers | thread_sanitizer) "check_$1" "$2" ;;
    arm) shift; check_arm "$@" ;;
    windows) shift; check_windows "$@" ;;
    *) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
