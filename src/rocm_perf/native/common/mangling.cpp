#include "common/mangling.h"

#include <limits>
#include <optional>

#include "common/mangled_text.h"

namespace rocm_perf {
namespace {

// What follows an operator: `e` an expression, `t` a type, `n` a name, `s` the scope of one, `*` expressions until `E`.
struct Operators {
  const char* codes;
  const char* operands;
};

constexpr Operators kOperators[] = {
    {"ps ng ad de co nt nx sz az te tw pp mm sp sZ", "e"},
    {"pl mi ml dv rm an or eo ls rs aa oo eq ne lt gt le ge ss pL mI mL dV rM aN oR eO lS rS aS cm pm ix ds", "ee"},
    {"sc cc rc dc", "te"},
    {"st at", "t"},
    {"dt pt", "en"},
    {"sr", "sn"},
    {"qu", "eee"},
    {"cl", "*"},
    {"tl", "t*"},
};
constexpr const char* kNamesOfOperators =
    "nw na dl da aw ps ng ad de co pl mi ml dv rm an or eo aS pL mI mL dV rM aN oR eO ls rs lS rS eq ne lt gt le ge ss "
    "nt "
    "aa oo pp mm cm pm pt cl ix qu";

// The grammar, from the whole name down to expressions.
class Measure : private MangledText {
 public:
  using MangledText::MangledText;

  std::int64_t whole() {
    need("_Z");
    encoding();
    if (!ended() && peek() != '.') throw Unreadable{};
    return extent_.letters + static_cast<std::int64_t>(name_.size());
  }

 private:
  bool qualifiers() {
    bool any = false;
    while (accept_one_of({"r", "V", "K", "Do"})) any = true;
    return any;
  }

  void discriminator() {
    if (peek() != '_') return;
    if (is_digit(peek(1))) return advance(2);
    std::size_t end = 2;
    while (is_digit(peek(end))) ++end;
    if (peek(1) == '_' && end > 2 && peek(end) == '_') advance(end + 1);
  }

  // Names.

  // A function with its signature, in which `T_` is an argument of that function's own template.
  void encoding() {
    const std::optional<Extent> arguments = name();
    const Extent before = extent_;
    while (!ended() && peek() != 'E' && peek() != '.') type();
    const std::int64_t references = (extent_ - before).parameters;
    if (arguments) add(references * *arguments - Extent{0, references, 0});
  }

  // The longest of the template arguments that the name ends with, if it does.
  std::optional<Extent> name() {
    const Extent before = extent_;
    if (peek() == 'N') return nested();
    if (peek() == 'Z') return local();
    const bool referred = peek() == 'S' && peek(1) != 't';
    if (referred) {
      substitution();
    } else {
      accept("St");
      unqualified();
    }
    if (peek() != 'I') return std::nullopt;
    if (!referred) remember(before);
    return arguments();
  }

  std::optional<Extent> nested() {
    need("N");
    qualifiers();
    accept_one_of({"R", "O"});
    const Extent before = extent_;
    std::optional<Extent> last;
    while (!accept("E")) {
      if (accept("M")) continue;  // the lambda that follows initialises a member
      const char first = peek();
      last = component(first);
      if (first != 'S' && peek() != 'E') remember(before);
    }
    return last;
  }

  std::optional<Extent> component(char first) {
    if (first == 'I') return arguments();
    if (first == 'S')
      substitution();
    else if (first == 'T')
      parameter();
    else if (starts("DT") || starts("Dt"))
      type();
    else
      unqualified();
    return std::nullopt;
  }

  std::optional<Extent> local() {
    need("Z");
    encoding();
    need("E");
    if (accept("s")) {
      discriminator();
      return std::nullopt;
    }
    if (accept("d")) need_counted();
    const std::optional<Extent> arguments = name();
    discriminator();
    return arguments;
  }

  void unqualified() {
    const Extent before = extent_;
    if (accept("Ul")) {
      while (!accept("E")) type();
      need_counted();
      remember_perhaps(before);
    } else if (accept("Ut")) {
      need_counted();
      remember_perhaps(before);
    } else if (peek() == 'C' || peek() == 'D') {
      constructor();
    } else if (is_lower(peek())) {
      if (!accept_code(kNamesOfOperators)) throw Unreadable{};
    } else {
      const bool internal = accept("L");
      source_name();
      if (internal) discriminator();
    }
    while (accept("B")) source_name();
  }

  void constructor() {
    if (starts("CI") && one_of(peek(2), "12345")) {
      advance(3);
      return type();
    }
    if (!one_of(peek(1), peek() == 'C' ? "12345" : "012345")) throw Unreadable{};
    advance(2);
  }

  void source_name() {
    std::size_t length = 0;
    std::size_t count = 0;
    for (; is_digit(peek(count)); ++count)
      if (count < 9) length = length * 10 + static_cast<std::size_t>(peek(count) - '0');
    advance(count);
    if (length == 0 || length > left()) throw Unreadable{};
    advance(length);
  }

  // References.

  void substitution() {
    need("S");
    if (one_of(peek(), "absiodt")) return advance(1);
    std::size_t number = 0;
    std::size_t count = 0;
    for (; is_digit(peek(count)) || is_upper(peek(count)); ++count)
      if (count < 6) number = number * 36 + static_cast<std::size_t>(base_36(peek(count)));
    advance(count);
    need("_");
    if (count > 6) throw Unreadable{};
    refer(count ? number + 1 : 0);
  }

  void parameter() {
    need("T");
    need_counted();
    add({0, 1, 0});
  }

  // The extent of the longest argument is returned.
  Extent arguments() {
    Extent longest;
    if (!accept("J")) need("I");
    while (!accept("E")) {
      const Extent before = extent_;
      argument();
      longest = longest_of(longest, extent_ - before);
    }
    return longest;
  }

  void argument() {
    if (peek() == 'L') return literal();
    if (peek() == 'I' || peek() == 'J') {
      arguments();
    } else if (accept("X")) {
      expression();
      need("E");
    } else {
      type();
    }
  }

  // Types.

  void type() {
    const Extent before = extent_;
    descend();
    if (scoped_ && peek() == 'D' && peek(1) != 0 && peek(1) != 'T' && peek(1) != 't') throw Unreadable{};
    if (!builtin() && compound()) remember(before);
    --depth_;
  }

  bool builtin() {
    std::size_t length = 0;
    if (one_of(peek(), "vwbcahstijlmxynofdegz"))
      length = 1;
    else if (peek() == 'D' && one_of(peek(1), "acdefhinsu"))
      length = 2;
    else if (starts("DF"))
      length = numbered(2, "_bx");
    else if (starts("DB"))
      length = numbered(2, "_");
    else if (starts("DUB"))
      length = numbered(3, "_");
    if (length) advance(length);
    return length != 0;
  }

  // The length of digits with one of these letters behind them, and of what is ahead; 0 if they are not there.
  std::size_t numbered(std::size_t ahead, const char* ends) const {
    std::size_t end = ahead;
    while (is_digit(peek(end))) ++end;
    return end > ahead && one_of(peek(end), ends) ? end + 1 : 0;
  }

  // Whether the type that was read can be referred to.
  bool compound() {
    const char first = peek();
    if (qualifiers()) {
      peek() == 'F' ? function() : type();
    } else if (first == 'F') {
      function();
    } else if (first == 'S' && peek(1) != 't') {
      substitution();
      if (peek() != 'I') return false;
      arguments();
    } else if (first == 'T') {
      template_parameter();
    } else if (first == 'D') {
      special();
    } else if (one_of(first, "OPRCG")) {
      advance(1);
      type();
    } else if (accept("A")) {
      array();
    } else if (accept("M")) {
      type();
      type();
    } else if (accept("u")) {
      source_name();
    } else if (accept("U")) {
      source_name();
      type();
    } else {
      name();
    }
    return true;
  }

  void template_parameter() {
    const Extent before = extent_;
    parameter();
    if (peek() != 'I') return;
    remember(before);
    arguments();
  }

  void function() {
    need("F");
    accept("Y");
    while (!accept("E")) {
      if (starts("RE") || starts("OE"))
        advance(1);
      else
        type();
    }
  }

  void array() {
    if (is_digit(peek()) || (peek() == 'n' && is_digit(peek(1)))) {
      accept("n");
      digits();
    } else if (peek() != '_') {
      expression();
    }
    need("_");
    type();
  }

  // Pack expansions, decltype and vectors.
  void special() {
    const Extent before = extent_;
    if (accept("Dp")) {
      type();
      expanded(extent_ - before);
    } else if (accept_one_of({"Dt", "DT"})) {
      expression();
      need("E");
    } else {
      need("Dv");
      array();
    }
  }

  // A pattern is printed once for each argument of a pack, of which there are not more than letters in them.
  void expanded(Extent pattern) {
    if (pattern.packs) throw Unreadable{};
    add({0, pattern.letters, 1});
  }

  // Expressions.

  void literal() {
    need("L");
    if (accept("_Z")) {
      encoding();
    } else {
      type();
      while (!ended() && peek() != 'E') advance(1);
    }
    need("E");
  }

  void expression() {
    descend();
    operation();
    --depth_;
  }

  void expressions_until_end() {
    while (!accept("E")) expression();
  }

  void operation() {
    if (peek() == 'L') {
      literal();
    } else if (peek() == 'T') {
      parameter();
    } else if (is_digit(peek())) {
      unresolved();
    } else if (accept("fp")) {
      qualifiers();
      need_counted();
    } else {
      operator_with_operands();
    }
  }

  void operator_with_operands() {
    const Extent before = extent_;
    const bool is_pack = starts("sp");
    scoped_ = scoped_ || starts("sr");
    const bool has_prefix_form = starts("pp") || starts("mm");
    const char* operands = operands_of_next();
    if (has_prefix_form) accept("_");  // `pp_x` is ++x
    for (; *operands; ++operands) operand(*operands);
    if (is_pack) expanded(extent_ - before);
  }

  // The operator is read.
  const char* operands_of_next() {
    for (const Operators& operators : kOperators)
      if (accept_code(operators.codes)) return operators.operands;
    throw Unreadable{};
  }

  void operand(char kind) {
    if (kind == 'e')
      expression();
    else if (kind == 't')
      type();
    else if (kind == 'n')
      unresolved();
    else if (kind == 's')
      scope();
    else
      expressions_until_end();
  }

  // A type, or one of clang's bare names, as in `sr3stdE9is_same_v`, which not every demangler counts.
  void scope() {
    const std::size_t known = parts_.size();
    const bool bare = is_digit(peek());
    type();
    if (!bare) return;
    accept("E");
    unsure_ += parts_.size() - known;
  }

  void unresolved() {
    unqualified();
    if (peek() == 'I') arguments();
  }
};

// A bound that needs no grammar, where each reference can double the name at most.
std::int64_t unfolded_at_most(std::string_view name) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::int64_t bound = static_cast<std::int64_t>(name.size());
  for (std::size_t i = 0; i + 1 < name.size(); ++i) {
    const std::string_view pair = name.substr(i, 2);
    if (pair == "Dp" || pair == "sp" || pair == "sr" || pair == "cv") return most;
    if (pair[0] != 'S' && pair[0] != 'T') continue;
    std::size_t end = i + 1;
    while (end < name.size() && (is_digit(name[end]) || is_upper(name[end]))) ++end;
    if (end == name.size() || name[end] != '_') continue;
    if (bound > most / 2) return most;
    bound *= 2;
    i = end;
  }
  return bound;
}

}  // namespace

bool unfolds_within(std::string_view name, std::int64_t limit) {
  if (unfolded_at_most(name) <= limit) return true;
  try {
    return Measure(name, limit).whole() <= limit;
  } catch (const Unreadable&) {
    return false;
  }
}

}  // namespace rocm_perf
