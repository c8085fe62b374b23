#include "softgpu/lds_banks.h"

#include <algorithm>

namespace rocm_perf::softgpu {
namespace {

constexpr int kBanks = 32, kBankBytes = 4;
constexpr int kMostWords = 2 * kBanks;  // that the lanes served together can ask for, unaligned ones too

// Lanes that the banks serve together: as many as they have bytes for.
uint64_t lanes_together(uint64_t size) {
  return std::max<uint64_t>(1, kBanks * kBankBytes / std::max<uint64_t>(size, kBankBytes));
}

// The distinct words that each bank has to serve: lanes that ask for one word share it.
class Banks {
 public:
  void ask_for(uint64_t word) {
    uint8_t& count = counts_[word % kBanks];
    uint64_t* words = words_[word % kBanks];
    if (std::find(words, words + count, word) != words + count) return;
    words[count++] = word;
    ++distinct_;
  }
  uint64_t cycles() const { return *std::max_element(std::begin(counts_), std::end(counts_)); }
  uint64_t least_cycles() const { return (distinct_ + kBanks - 1) / kBanks; }

 private:
  uint8_t counts_[kBanks] = {};
  uint64_t words_[kBanks][kMostWords];
  uint64_t distinct_ = 0;
};

}  // namespace

void note_banks(const Wave& wave, const Addresses& addresses, uint64_t size, const Instruction&, Count& count) {
  uint64_t together = lanes_together(size), exec = wave.exec();
  for (uint64_t first = 0; first < static_cast<uint64_t>(wave.size); first += together) {
    Banks banks;
    for (uint64_t lane = first; lane < first + together; ++lane) {
      if (!(exec >> lane & 1)) continue;
      for (uint64_t at = addresses.lane[lane]; at < addresses.lane[lane] + size; at += kBankBytes)
        banks.ask_for(at / kBankBytes);
    }
    count.lds_cycles += banks.cycles();
    count.lds_conflicts += banks.cycles() - banks.least_cycles();
  }
}

}  // namespace rocm_perf::softgpu
