#include "views.hpp"

namespace quorate {

static thread_local Pool* current = nullptr;  // no destructor, so that no C++ runtime is needed

Pool& this_pool() { return *current; }
Pool::Pool() : outer(current) { current = this; }

// A block for `bytes` more; memory that is exhausted ends the process: exports.cpp bounds all sizes before.
void Pool::grow(std::size_t bytes) {
    if (blocks[block] != nullptr && ++block == MOST_BLOCKS) std::abort();  // the last block stays in use by outer frames
    std::size_t size = std::max(bytes, std::size_t{1} << (14 + 2 * std::min(block, 8)));
    if (sizes[block] < size) {
        std::free(blocks[block]);
        blocks[block] = static_cast<std::byte*>(std::malloc(size + ALIGNMENT));
        if (blocks[block] == nullptr) std::abort();
        sizes[block] = size;
    }
    used = 0;
}

Pool::~Pool() {
    for (std::byte* each : blocks) std::free(each);
    current = outer;
}

}  // namespace quorate
