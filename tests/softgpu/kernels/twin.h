// A kernel on this machine: the work-items of a workgroup are coroutines, which meet at barriers and in shuffles.
#pragma once
#include <ucontext.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#define KERNEL static void
#define TEMPLATE_KERNEL static void
#define DEVICE static
#define SHARED static
#define CONSTANT static
#define VARIABLE static
#define TWIN(name) TWIN_AS(name, name)
#define TWIN_AS(name, function)                                                        \
  extern "C" void twin_##name(const u32* groups, const u32* block, void** arguments) { \
    twin::run(function, groups, block, arguments);                                     \
  }

namespace twin {

constexpr std::size_t kStack = 64 << 10;

struct Item {
  ucontext_t context;
  std::vector<char> stack;
  u32 x, y, number;
  float given;
  bool has_ended;
};

inline u32 group[3], block[3], groups[3];
inline std::vector<std::unique_ptr<Item>> items;
inline Item* current;
inline ucontext_t scheduler;
inline void (*body)();

inline void pause() { swapcontext(&current->context, &scheduler); }

inline void enter() {
  body();
  current->has_ended = true;
  pause();
}

template <typename... A, std::size_t... N>
void call(void (*function)(A...), void** arguments, std::index_sequence<N...>) {
  function(*static_cast<std::decay_t<A>*>(arguments[N])...);
}

// Everyone runs to the next barrier before anyone passes it.
inline void run_group() {
  for (auto& item : items) {
    getcontext(&item->context);
    item->context.uc_stack.ss_sp = item->stack.data();
    item->context.uc_stack.ss_size = item->stack.size();
    item->has_ended = false;
    makecontext(&item->context, enter, 0);
  }
  for (bool is_alive = true; is_alive;) {
    is_alive = false;
    for (auto& item : items) {
      if (item->has_ended) continue;
      current = item.get();
      swapcontext(&scheduler, &item->context);
      is_alive = is_alive || !item->has_ended;
    }
  }
}

template <typename... A>
void run(void (*function)(A...), const u32* wanted, const u32* size, void** arguments) {
  static void (*chosen)(A...);
  static void** values;
  chosen = function;
  values = arguments;
  body = [] { call(chosen, values, std::index_sequence_for<A...>()); };
  std::memcpy(groups, wanted, sizeof groups);
  std::memcpy(block, size, sizeof block);
  items.clear();
  for (u32 number = 0; number < block[0] * block[1]; ++number) {
    items.push_back(std::make_unique<Item>());
    items.back()->stack.resize(kStack);
    items.back()->x = number % block[0];
    items.back()->y = number / block[0];
    items.back()->number = number;
  }
  for (group[1] = 0; group[1] < groups[1]; ++group[1])
    for (group[0] = 0; group[0] < groups[0]; ++group[0]) run_group();
}

}  // namespace twin

static inline u32 thread_x() { return twin::current->x; }
static inline u32 thread_y() { return twin::current->y; }
static inline u32 group_x() { return twin::group[0]; }
static inline u32 group_y() { return twin::group[1]; }
static inline u32 block_x() { return twin::block[0]; }
static inline u32 grid_x() { return twin::block[0] * twin::groups[0]; }
static inline u32 item() { return group_x() * block_x() + thread_x(); }
static inline u32 lane() { return twin::current->number % WAVE; }
static inline u32 lanes() { return WAVE; }
static inline void barrier() { twin::pause(); }

// All lanes of a wave take part, as they do in the kernels.
static inline float shuffle(float value, u32 from) {
  twin::Item* self = twin::current;
  self->given = value;
  twin::pause();
  float taken = twin::items[self->number / WAVE * WAVE + from]->given;
  twin::pause();
  return taken;
}

// By the definition: some CPUs flush denormals when they convert, and not every libgcc can.
static inline float of_bfloat(u16 value) { return __builtin_bit_cast(float, (u32)value << 16); }
static inline u16 to_bfloat(float value) {
  u32 word = __builtin_bit_cast(u32, value);
  return value == value ? (word + 0x7fff + (word >> 16 & 1)) >> 16 : word >> 16 | 0x40;
}
static inline float exp2_of(float x) { return std::exp2(x); }

#define ATOMIC(operation, at, value) twin_##operation(at, value)
template <typename T>
T twin_fetch_add(T* at, T value) {
  T old = *at;
  *at = old + value;
  return old;
}
template <typename T>
T twin_fetch_min(T* at, T value) {
  T old = *at;
  *at = value < old ? value : old;
  return old;
}
template <typename T>
T twin_fetch_max(T* at, T value) {
  T old = *at;
  *at = value > old ? value : old;
  return old;
}
template <typename T>
T twin_fetch_or(T* at, T value) {
  T old = *at;
  *at = old | value;
  return old;
}
template <typename T>
T twin_fetch_and(T* at, T value) {
  T old = *at;
  *at = old & value;
  return old;
}
template <typename T>
T twin_fetch_xor(T* at, T value) {
  T old = *at;
  *at = old ^ value;
  return old;
}
template <typename T>
T twin_exchange(T* at, T value) {
  T old = *at;
  *at = value;
  return old;
}
