#include "capture/mover.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace rocm_perf {
namespace {

// 64 bits of a block's content, to see afterwards whether it changed. Four lanes, so that it keeps up with memory.
std::uint64_t fingerprint(const char* data, std::size_t size) {
  constexpr std::uint64_t kPrime = 0x9e3779b97f4a7c15ull;
  std::uint64_t lanes[4] = {1, 2, 3, 4};
  std::size_t at = 0;
  for (; at + 32 <= size; at += 32) {
    for (int lane = 0; lane < 4; ++lane) {
      std::uint64_t word;
      std::memcpy(&word, data + at + 8 * lane, 8);
      std::uint64_t mixed = (lanes[lane] ^ word) * kPrime;
      lanes[lane] = mixed ^ (mixed >> 29);
    }
  }
  for (; at < size; ++at) lanes[0] = (lanes[0] ^ static_cast<unsigned char>(data[at])) * kPrime;
  std::uint64_t all = size;
  for (std::uint64_t lane : lanes) {
    all = (all ^ lane) * kPrime;
    all ^= all >> 32;
  }
  return all;
}

}  // namespace

Mover::Mover(ReadDevice read, std::vector<char*> buffers) : read_(std::move(read)) {
  for (char* buffer : buffers) slots_.push_back(std::make_unique<Slot>(buffer));
  try {
    for (auto& slot : slots_) slot->worker = std::thread([this, &slot] { work(*slot); });
  } catch (...) {  // the system gives no more threads
    end();
    throw;
  }
}

void Mover::each(std::uint64_t address, std::uint64_t size, const Take& take) {
  try {
    for (std::uint64_t offset = 0; offset < size; offset += kPiece) {
      Slot& slot = idle_slot();
      slot.size = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, size - offset));
      slot.offset = offset;
      slot.take = &take;
      fill(slot, address + offset);
    }
  } catch (...) {
    wait_all();
    throw;
  }
  wait_all();
  if (error_) std::rethrow_exception(error_);
}

Mover::Slot& Mover::idle_slot() {
  std::unique_lock<std::mutex> hold(mutex_);
  for (;;) {
    if (error_) std::rethrow_exception(error_);
    for (auto& slot : slots_) {
      if (slot->state != State::idle) continue;
      slot->state = State::reading;
      return *slot;
    }
    changed_.wait(hold);
  }
}

void Mover::fill(Slot& slot, std::uint64_t address) {
  try {
    read_(slot.buffer, address, slot.size);
  } catch (...) {
    set(slot, State::idle);
    throw;
  }
  set(slot, State::full);
}

void Mover::wait_all() {
  std::unique_lock<std::mutex> hold(mutex_);
  changed_.wait(hold, [this] {
    for (auto& slot : slots_)
      if (slot->state != State::idle) return false;
    return true;
  });
}

void Mover::end() {
  {
    std::lock_guard<std::mutex> hold(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (auto& slot : slots_)
    if (slot->worker.joinable()) slot->worker.join();
}

void Mover::set(Slot& slot, State state) {
  {
    std::lock_guard<std::mutex> hold(mutex_);
    slot.state = state;
  }
  changed_.notify_all();
}

void Mover::work(Slot& slot) {
  for (;;) {
    {
      std::unique_lock<std::mutex> hold(mutex_);
      changed_.wait(hold, [&] { return ending_ || slot.state == State::full; });
      if (slot.state != State::full) return;
    }
    try {
      (*slot.take)(slot.buffer, slot.size, slot.offset);
    } catch (...) {
      std::lock_guard<std::mutex> hold(mutex_);
      if (!error_) error_ = std::current_exception();
    }
    set(slot, State::idle);
  }
}

Region::Region(const Draft& draft, Allocation allocation)
    : draft_(draft), blocks_((allocation.size + kBlock - 1) / kBlock) {
  saved_.allocation = std::move(allocation);
}

void Region::save_before(Mover& mover) {
  const Allocation& of = saved_.allocation;
  File file(draft_.before(of.base), O_WRONLY | O_CREAT | O_TRUNC);
  file.resize(of.size);
  mover.each(of.base, of.size, [&](const char* data, std::size_t size, std::uint64_t offset) {
    for (std::size_t at = 0; at < size; at += kBlock)
      blocks_[(offset + at) / kBlock] = fingerprint(data + at, std::min(kBlock, size - at));
    Draft::put(file, data, size, offset);
  });
  saved_.saved = true;
}

void Region::save_after(Mover& mover) {
  const Allocation& of = saved_.allocation;
  std::vector<char> different(blocks_.size(), 0);
  std::unique_ptr<File> file;
  std::mutex opening;
  mover.each(of.base, of.size, [&](const char* data, std::size_t size, std::uint64_t offset) {
    for (std::size_t at = 0; at < size; at += kBlock) {
      std::size_t block = (offset + at) / kBlock, length = std::min(kBlock, size - at);
      if (blocks_[block] == fingerprint(data + at, length)) continue;
      {
        std::lock_guard<std::mutex> hold(opening);
        if (!file) {
          file = std::make_unique<File>(draft_.after(of.base), O_WRONLY | O_CREAT | O_TRUNC);
          file->resize(of.size);
        }
      }
      different[block] = 1;
      file->write_at(data + at, length, offset + at);
    }
  });
  merge(different);
}

void Region::discard() const {
  ::unlink(draft_.before(saved_.allocation.base).c_str());
  ::unlink(draft_.after(saved_.allocation.base).c_str());
}

void Region::merge(const std::vector<char>& different) {
  for (std::size_t block = 0; block < different.size(); ++block) {
    if (!different[block]) continue;
    std::uint64_t start = block * kBlock, end = std::min<std::uint64_t>(start + kBlock, saved_.allocation.size);
    if (!saved_.changed.empty() && saved_.changed.back().first + saved_.changed.back().second == start)
      saved_.changed.back().second = end - saved_.changed.back().first;
    else
      saved_.changed.emplace_back(start, end - start);
  }
}

}  // namespace rocm_perf
