// Runs a fuzz target on random changes of a corpus, for compilers without libFuzzer. The arguments
// are some of libFuzzer's:
//
//     fuzz_... -max_total_time=SECONDS -artifact_prefix=PREFIX FOLDER...
//
// The file PREFIX"latest" always holds the latest input: after a crash, the one that caused it.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t longest = 4096;

[[noreturn]] void stop(const std::string& message) {
    std::fprintf(stderr, "%s\n", message.c_str());
    std::exit(2);
}

void read_folder(const char* folder, std::vector<std::string>& corpus) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        std::ifstream file(entry.path(), std::ios::binary);
        corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
        corpus.back().resize(std::min(corpus.back().size(), longest));
    }
}

// Changes, removes, repeats or inserts some bytes, or a piece of another text.
void change(std::string& text, const std::string& other, std::mt19937_64& random) {
    const auto below = [&](std::size_t n) { return n == 0 ? 0 : std::size_t(random() % n); };
    const std::size_t at = below(text.size() + 1), count = below(random() % 8 == 0 ? 256 : 8) + 1;
    switch (random() % 6) {
        case 0:
            if (at < text.size()) text[at] = char(random());
            break;
        case 1:
            if (at < text.size()) text[at] = char(text[at] ^ (1 << random() % 8));
            break;
        case 2:
            text.erase(at, count);
            break;
        case 3:
            text.insert(at, text.substr(below(text.size()), count));
            break;
        case 4:
            text.insert(at, other.substr(below(other.size()), count));
            break;
        default:
            text.insert(at, count, other.empty() ? '0' : other[below(other.size())]);
    }
    text.resize(std::min(text.size(), longest));
}

// A file that holds the latest input.
class Record {
  public:
    explicit Record(const std::string& path)
        : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0644)) {
        if (file_ < 0) stop("cannot write " + path);
    }
    void write(const std::string& text) {
        const auto size = ssize_t(text.size());
        if (::pwrite(file_, text.data(), text.size(), 0) != size || ::ftruncate(file_, size) != 0)
            stop("cannot write the latest input");
    }

  private:
    int file_;
};

}  // namespace

int main(int argc, char** argv) {
    double seconds = 60;
    std::string prefix;
    std::vector<std::string> corpus;
    for (int i = 1; i < argc; ++i) {
        const std::string_view argument = argv[i],
                               time = "-max_total_time=", artifact = "-artifact_prefix=";
        if (argument.starts_with(time))
            seconds = std::strtod(argv[i] + time.size(), nullptr);
        else if (argument.starts_with(artifact))
            prefix = argument.substr(artifact.size());
        else
            read_folder(argv[i], corpus);
    }
    if (corpus.empty()) stop("the folders of the corpus hold no files");
    Record record(prefix + "latest");
    std::mt19937_64 random(std::random_device{}());
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    std::uint64_t n_inputs = 0;
    for (; std::chrono::steady_clock::now() < end; ++n_inputs) {
        std::string text = corpus[n_inputs % corpus.size()];
        if (n_inputs >= corpus.size())
            for (std::uint64_t n = 1 + random() % 16; n > 0; --n)
                change(text, corpus[random() % corpus.size()], random);
        record.write(text);
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    }
    std::printf("%llu inputs, no failure\n", static_cast<unsigned long long>(n_inputs));
    return 0;
}
