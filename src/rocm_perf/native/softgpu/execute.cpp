#include "softgpu/execute.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "common/text.h"
#include "softgpu/failure.h"
#include "softgpu/register_index.h"

namespace rocm_perf::softgpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kTurn = 1 << 16;        // instructions of a wave before another one may run
constexpr uint64_t kGroupTurns = 64;       // turns of a workgroup before another one may run
constexpr std::size_t kMostWaiting = 512;  // workgroups that have begun and wait for others

struct Tally {
  uint64_t workgroups = 0, waves = 0, instructions = 0, lane_instructions = 0;
};

struct RunningGroup {
  Workgroup group;
  std::vector<Wave> waves;
};

void run_both(Wave& wave, const Instruction& first) {
  // Both halves read before either writes.
  const Instruction& second = first.second[0];
  Register& target = wave.vectors[first.operands[0].index];
  Register before = target;
  first.run(wave, first);
  Register after = target;
  target = before;
  second.run(wave, second);
  target = after;
}

void run_one(Wave& wave, const Instruction& instruction) {
  if (wave.indexed && instruction.name[0] == 'v')
    run_indexed(wave, instruction);
  else if (instruction.second.empty())
    instruction.run(wave, instruction);
  else
    run_both(wave, instruction);
}

template <bool is_counting>
void run_wave(Wave& wave, const Program& program, Tally& tally) {
  const Instruction* instructions = program.instructions.data();
  uint64_t done = 0, lanes = 0;
  wave.state = Wave::State::kRunning;
  while (wave.state == Wave::State::kRunning && done < kTurn) {
    const Instruction& instruction = instructions[wave.next];
    wave.current = wave.next++;
    uint64_t active = static_cast<uint64_t>(__builtin_popcountll(wave.exec()));
    if constexpr (is_counting) {
      Count& count = (*wave.counts)[instruction.number];
      ++count.executions;
      count.lanes += active;
    }
    run_one(wave, instruction);
    ++done;
    lanes += active;
  }
  tally.instructions += done;
  tally.lane_instructions += lanes;
}

std::string described(const OutsideMemory& access) {
  std::string what = std::string(access.is_write ? "writes " : "reads ") + std::to_string(access.size) + " bytes at ";
  if (access.address >> 32 == kLdsAperture >> 32)
    return what + "0x" + hex(access.address - kLdsAperture) + " of LDS, outside of what the workgroup has";
  if (access.address >> 32 == kScratchAperture >> 32)
    return what + "0x" + hex(access.address - kScratchAperture) + " of scratch, outside of what a lane has";
  return what + "0x" + hex(access.address) + ", which is outside of all memory that it may " +
         (access.is_write ? "write" : "read");
}

// One host thread's share of the work.
class Worker {
 public:
  Worker(const Launch& launch, const Program& program, Memory memory, bool is_counting)
      : launch_(launch), program_(program), memory_(std::move(memory)) {
    if (is_counting) counts_.resize(program.instructions.size());
  }

  // Takes workgroups from `next` until there are none, or `stop` says so; returns the failure, nothing if there is
  // none.
  template <typename Next>
  std::string run(Next next, const std::atomic<bool>& stop, Clock::time_point deadline, bool& is_timeout) {
    try {
      while (!stop) {
        if (!begin(next)) break;
        if (Clock::now() > deadline) return timed_out(is_timeout);
        advance(deadline);
      }
      return "";
    } catch (const ExecutionError& error) {
      return error.what();
    }
  }

  const Counts& counts() const { return counts_; }
  const Tally& tally() const { return tally_; }

 private:
  // Makes sure that a workgroup is at the front; false where all is done.
  template <typename Next>
  bool begin(Next& next) {
    bool wants_new = groups_.empty() || (is_waiting_ && groups_.size() < kMostWaiting);
    is_waiting_ = false;
    uint64_t number = 0;
    if (!wants_new || !next(number)) return !groups_.empty();
    auto group = std::make_unique<RunningGroup>();
    group->waves = launch_.waves(group->group, number, memory_, counts_.empty() ? nullptr : &counts_);
    tally_.waves += group->waves.size();
    groups_.push_front(std::move(group));
    return true;
  }

  // Runs the first workgroup to its end, or for its turns: then it waits behind the others, which it may be waiting
  // for.
  void advance(Clock::time_point deadline) {
    RunningGroup& running = *groups_.front();
    for (uint64_t turn = 0; turn < kGroupTurns && Clock::now() <= deadline; ++turn) {
      if (!run_once(running)) {
        ++tally_.workgroups;
        groups_.pop_front();
        return;
      }
    }
    groups_.push_back(std::move(groups_.front()));
    groups_.pop_front();
    is_waiting_ = true;
  }

  // Lets each wave run until it waits; false where all have ended.
  bool run_once(RunningGroup& running) {
    bool is_alive = false, all_wait = true;
    for (Wave& wave : running.waves) {
      if (wave.state == Wave::State::kEnded) continue;
      if (wave.state != Wave::State::kAtBarrier) run_guarded(wave);
      is_alive = is_alive || wave.state != Wave::State::kEnded;
      all_wait = all_wait && (wave.state == Wave::State::kEnded || wave.state == Wave::State::kAtBarrier);
    }
    if (is_alive && all_wait)
      for (Wave& wave : running.waves)
        if (wave.state == Wave::State::kAtBarrier) wave.state = Wave::State::kRunning;
    return is_alive;
  }

  void run_guarded(Wave& wave) {
    try {
      counts_.empty() ? run_wave<false>(wave, program_, tally_) : run_wave<true>(wave, program_, tally_);
    } catch (const OutsideMemory& access) {
      throw failed_at(program_.instructions[wave.current], described(access) + " (workgroup " + place(wave) + ")");
    }
  }

  static std::string place(const Wave& wave) {
    const uint32_t* id = wave.group->id;
    return std::to_string(id[0]) + "," + std::to_string(id[1]) + "," + std::to_string(id[2]);
  }

  std::string timed_out(bool& is_timeout) {
    is_timeout = true;
    for (const auto& running : groups_)
      for (const Wave& wave : running->waves)
        if (wave.state != Wave::State::kEnded)
          return failed_at(program_.instructions[wave.current], "the time limit ended the kernel here").what();
    return "the time limit ended the kernel";
  }

  const Launch& launch_;
  const Program& program_;
  Memory memory_;
  Counts counts_;
  Tally tally_;
  std::deque<std::unique_ptr<RunningGroup>> groups_;
  bool is_waiting_ = false;  // the workgroup that ran last did not end within its turns
};

void merge(const Worker& worker, Outcome& outcome, Counts* counts) {
  const Tally& tally = worker.tally();
  outcome.workgroups += tally.workgroups;
  outcome.waves += tally.waves;
  outcome.instructions += tally.instructions;
  outcome.lane_instructions += tally.lane_instructions;
  if (!counts) return;
  counts->resize(worker.counts().size());
  for (std::size_t at = 0; at < counts->size(); ++at) (*counts)[at].add(worker.counts()[at]);
}

}  // namespace

void Count::add(const Count& other) {
  executions += other.executions;
  lanes += other.lanes;
  bytes += other.bytes;
  lines_64 += other.lines_64;
  lines_128 += other.lines_128;
  scratch_bytes += other.scratch_bytes;
  lds_cycles += other.lds_cycles;
  lds_conflicts += other.lds_conflicts;
  same_address += other.same_address;
}

Outcome execute(const Program& program, const Memory& memory, const Dispatch& dispatch, const Limits& limits,
                const std::vector<uint64_t>& workgroups, Counts* counts) {
  Outcome outcome;
  try {
    Memory own = memory;  // what the launch itself reads is not the kernel's
    own.watch(nullptr);
    Launch launch(program, own, dispatch);
    uint64_t total = workgroups.empty() ? launch.workgroups() : workgroups.size();
    std::atomic<uint64_t> taken{0};
    std::atomic<bool> stop{false};
    auto next = [&](uint64_t& number) {
      uint64_t at = taken++;
      if (at >= total) return false;
      number = workgroups.empty() ? at : workgroups[at];
      return true;
    };
    auto deadline =
        limits.timeout_ms ? Clock::now() + std::chrono::milliseconds(limits.timeout_ms) : Clock::time_point::max();
    unsigned threads = std::max(1u, static_cast<unsigned>(std::min<uint64_t>(limits.threads, total)));
    std::vector<std::unique_ptr<Worker>> workers;
    for (unsigned at = 0; at < threads; ++at)
      workers.push_back(std::make_unique<Worker>(launch, program, memory, counts != nullptr));
    std::mutex lock;
    auto work = [&](Worker& worker) {
      bool is_timeout = false;
      std::string error = worker.run(next, stop, deadline, is_timeout);
      if (error.empty()) return;
      stop = true;
      std::lock_guard<std::mutex> guard(lock);
      if (outcome.error.empty()) {
        outcome.error = error;
        outcome.is_timeout = is_timeout;
      }
    };
    std::vector<std::thread> others;
    for (unsigned at = 1; at < threads; ++at) others.emplace_back(work, std::ref(*workers[at]));
    work(*workers[0]);
    for (std::thread& other : others) other.join();
    for (const auto& worker : workers) merge(*worker, outcome, counts);
  } catch (const ExecutionError& error) {
    outcome.error = error.what();
  } catch (const OutsideMemory& access) {
    outcome.error = "the launch " + described(access);
  }
  return outcome;
}

}  // namespace rocm_perf::softgpu
