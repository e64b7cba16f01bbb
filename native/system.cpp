// The calls to the system: POSIX and Linux, or Windows.
#include "system.hpp"

#if defined(_WIN32)
#define NOMINMAX
#define WIN32_LEAN_AND_MEAN
#include <io.h>
#include <malloc.h>
#include <process.h>
#include <windows.h>
#else
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
#endif
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <system_error>

namespace pocketsvm {

void* allocate_aligned(std::size_t unit, std::size_t bytes) {
#if defined(_WIN32)
    void* const memory = _aligned_malloc(bytes, unit);
#else
    void* const memory = std::aligned_alloc(unit, bytes);
#endif
    if (memory == nullptr) throw std::bad_alloc();
#if defined(__linux__)
    if (unit == huge_page_size) madvise(memory, bytes, MADV_HUGEPAGE);  // it may refuse
#endif
    return memory;
}

void free_aligned(void* memory) {
#if defined(_WIN32)
    _aligned_free(memory);
#else
    std::free(memory);
#endif
}

void* resize_pages(void* memory, [[maybe_unused]] std::size_t old_bytes, std::size_t bytes) {
#if defined(__linux__)
    void* const found = memory == nullptr ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                          : mremap(memory, old_bytes, bytes, MREMAP_MAYMOVE);
    if (found == MAP_FAILED) throw std::bad_alloc();
    // Huge pages are several times faster to obtain than small ones. If the system has none,
    // nothing is lost: unused memory costs nothing.
    if (bytes % huge_page_size == 0 && bytes > old_bytes) madvise(found, bytes, MADV_HUGEPAGE);
#else
    void* const found = std::realloc(memory, bytes);
    if (found == nullptr) throw std::bad_alloc();
#endif
    return found;
}

void free_pages(void* memory, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__)
    if (memory != nullptr) munmap(memory, bytes);
#else
    std::free(memory);
#endif
}

std::size_t read_at(int file, char* to, std::size_t size, std::uint64_t position) {
#if defined(_WIN32)
    OVERLAPPED where{};
    where.Offset = DWORD(position);
    where.OffsetHigh = DWORD(position >> 32);
    const DWORD wanted = DWORD(std::min(size, std::size_t(1) << 30));
    DWORD count = 0;
    if (ReadFile(HANDLE(_get_osfhandle(file)), to, wanted, &count, &where)) return count;
    const DWORD error = GetLastError();
    if (error == ERROR_HANDLE_EOF) return 0;
    throw std::system_error(int(error), std::system_category());
#else
    while (true) {
        const ssize_t count = pread(file, to, size, off_t(position));
        if (count >= 0) return std::size_t(count);
        if (errno != EINTR) throw std::system_error(errno, std::generic_category());
    }
#endif
}

int process_id() {
#if defined(_WIN32)
    return _getpid();
#else
    return int(getpid());
#endif
}

double monotonic_seconds() {
#if defined(_WIN32)
    LARGE_INTEGER count, frequency;
    QueryPerformanceCounter(&count);
    QueryPerformanceFrequency(&frequency);
    return double(count.QuadPart) / double(frequency.QuadPart);
#else
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
#endif
}

}  // namespace pocketsvm
