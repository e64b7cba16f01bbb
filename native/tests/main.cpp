// Runs all unit tests. They need no Python, and are also run under the sanitizers.
#include <cstdlib>

#include "check.hpp"

void shared_tests();
void merging_tests();
void training_tests(std::uint64_t expected_hash);
void solving_tests();
void exact_tests();
void on_threads_tests();
void text_tests();

// The optional argument is the hash of the models on another machine, which must be the same here.
int main(int argc, char** argv) {
    shared_tests();
    merging_tests();
    training_tests(argc > 1 ? std::strtoull(argv[1], nullptr, 16) : 0);
    solving_tests();
    exact_tests();
    on_threads_tests();
    text_tests();
    std::printf("%d passed, %d failed\n", check::passed.load(), check::failed.load());
    return check::failed != 0;
}
