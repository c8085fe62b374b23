// Programs to capture kernels of: `app SCENARIO ONE.hsaco TWO.hsaco`. Each prints what its memory holds in the end, so
// that a run with the tool can be compared with one without.
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "newer.h"
#include "program.h"

namespace {

constexpr char kSoftmax[] = "_Z7softmaxPfi", kScale[] = "_Z5scalePfi", kChase[] = "_Z5chaseP4NodePf",
               kAdd[] = "_Z3addPjjj", kBoth[] = "_Z4bothPKjS0_Pjj";
constexpr std::uint32_t kCount = 40000;  // 160,000 bytes: three blocks of 64 KiB, the last one short

struct Node {
  float* values;
  Node* next;
  std::int64_t n;
};

std::string one, two;

std::vector<float> ramp(std::uint32_t count) {
  std::vector<float> out(count);
  for (std::uint32_t i = 0; i < count; ++i) out[i] = static_cast<float>(i % 7);
  return out;
}

template <class Type>
void tell(const std::vector<Type>& values) {
  std::uint64_t all = 14695981039346656037ull;
  auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  for (std::size_t at = 0; at < values.size() * sizeof(Type); ++at) all = (all ^ bytes[at]) * 1099511628211ull;
  std::printf("%016llx\n", static_cast<unsigned long long>(all));
}

void softmax_five_times(Program& program, hsa_queue_t* queue) {
  auto* x = program.device<float>(kCount);
  program.put(x, ramp(kCount));
  hsa_executable_t code = program.load({one});
  for (int round = 0; round < 5; ++round)
    program.run(queue, program.packet(code, kSoftmax, Arguments().add(x).add(kCount), kCount));
  tell(program.get(x, kCount));
}

void softmax(Program& program) { softmax_five_times(program, program.queue()); }

// Two shapes by turns: the whole and its half.
void shapes(Program& program) {
  auto* x = program.device<float>(kCount);
  program.put(x, ramp(kCount));
  hsa_executable_t code = program.load({one});
  hsa_queue_t* queue = program.queue();
  for (std::uint32_t round = 0; round < 5; ++round) {
    std::uint32_t count = round % 2 ? kCount / 2 : kCount;
    program.run(queue, program.packet(code, kSoftmax, Arguments().add(x).add(count), count));
  }
  tell(program.get(x, kCount));
}

void softmax_kernarg_on_device(Program& program) {
  program.kernarg_on_device = true;
  softmax(program);
}

void described_queue(Program& program) { softmax_five_times(program, make_described_queue(program.gpus[0])); }

void batch(Program& program) {
  auto* x = program.device<std::uint32_t>(kCount);
  program.put(x, std::vector<std::uint32_t>(kCount, 1));
  hsa_executable_t code = program.load({two});
  std::vector<hsa_kernel_dispatch_packet_t> packets;
  for (std::uint32_t value : {10u, 200u, 3000u, 40000u})
    packets.push_back(program.packet(code, kAdd, Arguments().add(x).add(kCount).add(value), kCount, 256));
  Program::submit(program.queue(), packets);
  for (const auto& packet : packets) Program::wait(packet);
  tell(program.get(x, kCount));
}

// Slow kernels under way in other queues when the chosen one is submitted.
void queues(Program& program) {
  hsa_executable_t adds = program.load({two}), softmaxes = program.load({one});
  std::vector<std::uint32_t*> others;
  std::vector<hsa_kernel_dispatch_packet_t> packets;
  for (std::uint32_t index = 0; index < 3; ++index) {
    others.push_back(program.device<std::uint32_t>(kCount));
    program.put(others.back(), std::vector<std::uint32_t>(kCount, index));
    packets.push_back(program.packet(adds, kAdd, Arguments().add(others.back()).add(kCount).add(100u), kCount));
  }
  auto* x = program.device<float>(kCount);
  program.put(x, ramp(kCount));
  auto chosen = program.packet(softmaxes, kSoftmax, Arguments().add(x).add(kCount), kCount);
  for (const auto& packet : packets) Program::submit(program.queue(), {packet});
  program.run(program.queue(), chosen);
  for (std::uint32_t index = 0; index < 3; ++index) {
    Program::wait(packets[index]);
    tell(program.get(others[index], kCount));
  }
  tell(program.get(x, kCount));
}

// The only producer of a queue, which therefore keeps the write index itself.
class Producer {
 public:
  explicit Producer(Program& program) : queue_(program.queue(0, HSA_QUEUE_TYPE_SINGLE)) {}

  void put(const hsa_kernel_dispatch_packet_t& packet) {
    hsa_queue_store_write_index_screlease(queue_, next_ + 1);
    Program::submit_at(queue_, next_++, {packet});
  }

 private:
  hsa_queue_t* queue_;
  std::uint64_t next_ = 0;
};

// Slow kernels under way in a single-producer queue when the chosen one is submitted, and more of them afterwards.
void single_producer(Program& program) {
  hsa_executable_t adds = program.load({two}), softmaxes = program.load({one});
  auto* y = program.device<std::uint32_t>(kCount);
  program.put(y, std::vector<std::uint32_t>(kCount, 0));
  auto* x = program.device<float>(kCount);
  program.put(x, ramp(kCount));
  std::vector<hsa_kernel_dispatch_packet_t> packets;
  for (int round = 0; round < 4; ++round)
    packets.push_back(program.packet(adds, kAdd, Arguments().add(y).add(kCount).add(100u), kCount));
  auto chosen = program.packet(softmaxes, kSoftmax, Arguments().add(x).add(kCount), kCount);
  Producer producer(program);
  producer.put(packets[0]);
  producer.put(packets[1]);
  program.run(program.queue(), chosen);
  producer.put(packets[2]);
  producer.put(packets[3]);
  for (const auto& packet : packets) Program::wait(packet);
  tell(program.get(y, kCount));
  tell(program.get(x, kCount));
}

// The chosen kernel ends only when one of another queue, submitted after it, has run.
void needs_other(Program& program) {
  auto* x = program.device<float>(kCount);
  auto* y = program.device<float>(kCount);
  program.put(x, ramp(kCount));
  program.put(y, ramp(kCount));
  hsa_executable_t code = program.load({one});
  auto chosen = program.packet(code, kSoftmax, Arguments().add(x).add(kCount), kCount);
  auto other = program.packet(code, kScale, Arguments().add(y).add(kCount), kCount);
  std::thread first([&program, &chosen, queue = program.queue()] { program.run(queue, chosen); });
  float waiting = 0;
  while (waiting >= 0) {
    std::this_thread::yield();
    __atomic_load(x, &waiting, __ATOMIC_SEQ_CST);
  }
  program.run(program.queue(), other);
  first.join();
  tell(program.get(x, kCount));
  tell(program.get(y, kCount));
}

void threads(Program& program) {
  hsa_executable_t code = program.load({two});
  std::vector<std::uint32_t*> memory;
  std::vector<std::thread> running;
  for (int index = 0; index < 3; ++index) {
    memory.push_back(program.device<std::uint32_t>(1000));
    program.put(memory.back(), std::vector<std::uint32_t>(1000, 0));
    running.emplace_back([&program, code, to = memory.back(), queue = program.queue()] {
      for (int round = 0; round < 100; ++round)
        program.run(queue, program.packet(code, kAdd, Arguments().add(to).add(1000u).add(1u), 1000));
    });
  }
  for (auto& thread : running) thread.join();
  for (auto* one_memory : memory) tell(program.get(one_memory, 1000));
}

hsa_signal_t new_signal() {
  hsa_signal_t out{};
  check(hsa_signal_create(1, 0, nullptr, &out), "signal");
  return out;
}

void await(hsa_signal_t signal) {
  hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
}

void copy_plain(Program& program, float* to, float* from, hsa_signal_t copied) {
  check(hsa_amd_memory_async_copy(to, program.gpus[0], from, program.hosts[0], kCount * sizeof(float), 0, nullptr,
                                  copied),
        "copy");
}

void copy_rect(Program& program, float* to, float* from, hsa_signal_t copied) {
  constexpr std::uint32_t kRow = 400 * sizeof(float), kRows = kCount / 400;
  hsa_pitched_ptr_t into{to, kRow, kRow * kRows}, out_of{from, kRow, kRow * kRows};
  hsa_dim3_t corner{0, 0, 0}, range{kRow, kRows, 1};
  check(hsa_amd_memory_async_copy_rect(&into, &corner, &out_of, &corner, &range, program.gpus[0], hsaHostToDevice, 0,
                                       nullptr, copied),
        "copy");
}

// A copy is under way when the chosen kernel is submitted.
void copying(Program& program, void (*copy)(Program&, float*, float*, hsa_signal_t)) {
  auto* x = program.device<float>(kCount);
  auto* y = program.device<float>(kCount);
  program.put(x, ramp(kCount));
  program.put(y, std::vector<float>(kCount, 1));
  constexpr auto kFine = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED;
  auto* fresh = static_cast<float*>(program.on_host(kCount * sizeof(float), kFine));
  for (std::uint32_t i = 0; i < kCount; ++i) fresh[i] = 2;
  hsa_signal_t copied = new_signal();
  hsa_executable_t code = program.load({one});
  auto chosen = program.packet(code, kSoftmax, Arguments().add(x).add(kCount), kCount);
  copy(program, y, fresh, copied);
  program.run(program.queue(), chosen);
  await(copied);
  tell(program.get(y, kCount));
}

// Signals of copies are destroyed while a capture waits for a copy that is still under way.
void destroying_signals(Program& program) {
  auto* to = static_cast<char*>(program.on_host(64));
  auto* from = static_cast<char*>(program.on_host(64));
  hsa_signal_t gate = new_signal(), slow = new_signal();
  auto copy = [&](hsa_signal_t completes, std::uint32_t count, const hsa_signal_t* after) {
    check(hsa_amd_memory_async_copy(to, program.hosts[0], from, program.hosts[0], 4, count, after, completes), "copy");
  };
  std::vector<hsa_signal_t> ended;
  for (int index = 0; index < 64; ++index) {
    ended.push_back(new_signal());
    if (index == 32) copy(slow, 1, &gate);
    copy(ended.back(), 0, nullptr);
    await(ended.back());
  }
  std::thread destroying([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    for (hsa_signal_t one : ended) hsa_signal_destroy(one);
  });
  std::thread opening([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    hsa_signal_store_screlease(gate, 0);
  });
  softmax(program);
  destroying.join();
  opening.join();
  await(slow);
}

// Another thread fills memory all the time.
void filling(Program& program) {
  auto* y = program.device<std::uint32_t>(kCount);
  std::atomic<bool> ending{false};
  std::thread other([&] {
    for (std::uint32_t value = 1; !ending; ++value) hsa_amd_memory_fill(y, value, kCount);
  });
  softmax(program);
  ending = true;
  other.join();
}

// Another thread allocates and frees all the time.
void freeing(Program& program) {
  std::atomic<bool> ending{false};
  std::thread other([&] {
    while (!ending) {
      auto* memory = program.device<float>(kCount);
      program.put(memory, ramp(kCount));
      hsa_amd_memory_pool_free(memory);
    }
  });
  softmax(program);
  ending = true;
  other.join();
}

void codes(Program& program) {
  auto* x = program.device<std::uint32_t>(kCount);
  auto* y = program.device<std::uint32_t>(kCount);
  auto* z = program.device<std::uint32_t>(kCount);
  program.put(x, std::vector<std::uint32_t>(kCount, 5));
  program.put(y, std::vector<std::uint32_t>(kCount, 6));
  program.load({one});
  hsa_executable_t code = program.load({one, two}, 0, true);
  auto* queue = program.queue();
  program.run(queue, program.packet(code, kAdd, Arguments().add(x).add(kCount).add(1u), kCount));
  program.run(queue, program.packet(code, kBoth, Arguments().add(x).add(y).add(z).add(kCount), kCount));
  tell(program.get(z, kCount));
}

void two_gpus(Program& program) {
  auto* far = program.device<std::uint32_t>(kCount, 0);
  auto* near = program.device<std::uint32_t>(kCount, 1);
  auto* sum = program.device<std::uint32_t>(kCount, 1);
  program.put(far, std::vector<std::uint32_t>(kCount, 7));
  program.put(near, std::vector<std::uint32_t>(kCount, 8));
  hsa_executable_t code = program.load({two}, 1);
  Arguments arguments;
  arguments.add(far).add(near).add(sum).add(kCount);
  program.run(program.queue(1), program.packet(code, kBoth, arguments, kCount, 0, 1));
  tell(program.get(sum, kCount));
}

void many_allocations(Program& program) {
  std::vector<float*> memory;
  for (std::uint32_t index = 0; index < 1000; ++index) {
    memory.push_back(program.device<float>(256));
    program.put(memory.back(), std::vector<float>(256, static_cast<float>(index)));
  }
  hsa_executable_t code = program.load({one});
  program.run(program.queue(), program.packet(code, kScale, Arguments().add(memory[777]).add(256u), 256));
  tell(program.get(memory[777], 256));
}

void structures(Program& program) {
  Node* nodes[3];
  for (int index = 2; index >= 0; --index) {
    nodes[index] = program.device<Node>(1);
    auto* values = program.device<float>(1000);
    program.put(values, ramp(1000));
    program.put(nodes[index], std::vector<Node>{{values, index == 2 ? nullptr : nodes[index + 1], 1000}});
  }
  program.put(program.device<float>(1000), ramp(1000));  // nobody points here
  auto* sum = program.device<float>(1);
  program.put(sum, {1.5f});
  hsa_executable_t code = program.load({one});
  program.run(program.queue(), program.packet(code, kChase, Arguments().add(nodes[0]).add(sum)));
  tell(program.get(sum, 1));
}

void variables(Program& program) {
  auto* x = program.device<float>(kCount);
  program.put(x, ramp(kCount));
  hsa_executable_t code = program.load({one});
  hsa_executable_symbol_t symbol{};
  check(hsa_executable_get_symbol_by_name(code, "factor", &program.gpus[0], &symbol), "factor");
  float* factor = nullptr;
  hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS, &factor);
  program.put(factor, {3.0f});
  auto* queue = program.queue();
  for (int round = 0; round < 3; ++round)
    program.run(queue, program.packet(code, kScale, Arguments().add(x).add(kCount), kCount));
  tell(program.get(x, kCount));
}

void mapped(Program& program) {
  auto pool = Program::pool(program.gpus[0], HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED);
  auto* x = static_cast<float*>(map_memory(pool, 2 << 20, 0x530000000000));
  program.put(x, ramp(kCount));
  hsa_executable_t code = program.load({one});
  program.run(program.queue(), program.packet(code, kSoftmax, Arguments().add(x).add(kCount), kCount));
  tell(program.get(x, kCount));
}

void on_memory(Program& program, float* x) {
  std::vector<float> values = ramp(kCount);
  std::memcpy(x, values.data(), kCount * sizeof(float));
  hsa_executable_t code = program.load({one});
  program.run(program.queue(), program.packet(code, kSoftmax, Arguments().add(x).add(kCount), kCount));
  tell(std::vector<float>(x, x + kCount));
}

void registered_memory(Program& program) {
  static float memory[kCount];
  void* seen = nullptr;
  check(hsa_amd_memory_lock(memory, sizeof memory, nullptr, 0, &seen), "hsa_amd_memory_lock");
  on_memory(program, static_cast<float*>(seen));
}

void pinned_memory(Program& program) {
  constexpr auto kFine = HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED;
  on_memory(program, static_cast<float*>(program.on_host(kCount * sizeof(float), kFine)));
}

void shared_memory(Program& program) {
  static float memory[kCount];
  check(hsa_amd_svm_attributes_set(memory, sizeof memory, nullptr, 0), "hsa_amd_svm_attributes_set");
  on_memory(program, memory);
}

// One page of it is given other attributes, as hipMemAdvise does.
void shared_memory_with_a_page(Program& program) {
  alignas(4096) static float memory[kCount + 2048];
  check(hsa_amd_svm_attributes_set(memory, sizeof memory, nullptr, 0), "hsa_amd_svm_attributes_set");
  check(hsa_amd_svm_attributes_set(memory + 1024, 4096, nullptr, 0), "hsa_amd_svm_attributes_set");
  on_memory(program, memory + 2048);
}

void other_process(Program& program) {
  hsa_amd_ipc_memory_t handle{};
  void* seen = nullptr;
  check(hsa_amd_ipc_memory_attach(&handle, kCount * sizeof(float), 0, nullptr, &seen), "hsa_amd_ipc_memory_attach");
  on_memory(program, static_cast<float*>(seen));
}

}  // namespace

int main(int count, char** argv) {
  const std::map<std::string, std::function<void(Program&)>> scenarios = {
      {"softmax", softmax},
      {"shapes", shapes},
      {"kernarg-on-device", softmax_kernarg_on_device},
      {"described-queue", described_queue},
      {"batch", batch},
      {"queues", queues},
      {"threads", threads},
      {"single-producer", single_producer},
      {"needs-other", needs_other},
      {"copying", [](Program& program) { copying(program, copy_plain); }},
      {"copying-rect", [](Program& program) { copying(program, copy_rect); }},
      {"destroying-signals", destroying_signals},
      {"filling", filling},
      {"freeing", freeing},
      {"codes", codes},
      {"two-gpus", two_gpus},
      {"many", many_allocations},
      {"structures", structures},
      {"variables", variables},
      {"mapped", mapped},
      {"registered", registered_memory},
      {"pinned", pinned_memory},
      {"shared", shared_memory},
      {"shared-page", shared_memory_with_a_page},
      {"ipc", other_process},
  };
  if (count != 4 || !scenarios.count(argv[1])) return 64;
  one = argv[2];
  two = argv[3];
  Program program;
  scenarios.at(argv[1])(program);
  std::fflush(stdout);
  hsa_shut_down();
  return 0;
}
