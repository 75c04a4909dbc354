#include "inject/counter_planner.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <utility>

#include "inject/metric_name.h"

namespace gx::inject {
namespace {

using Names = std::vector<std::string>;

// Counters passed over while one part is filled. Each costs a binary search; what is left goes to the next part.
constexpr int kMaxPassedOver = 8;
constexpr std::string_view kDoesNotExist = "does not exist on this chip";

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (true) {
    const size_t at = text.find(separator);
    if (at != 0 && !text.empty()) pieces.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return pieces;
    text.remove_prefix(at + 1);
  }
}

bool Holds(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void Append(const Names& from, Names* to) {
  for (const std::string& name : from) {
    if (!Holds(*to, name)) to->push_back(name);
  }
}

std::string Listed(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

GroupKind GroupKindOf(MetricKind kind) {
  switch (kind) {
    case MetricKind::kSass:
      return GroupKind::kSass;
    case MetricKind::kPcie:
      return GroupKind::kPcie;
    case MetricKind::kNvlink:
      return GroupKind::kNvlink;
    case MetricKind::kDevice:
      return GroupKind::kDevice;
    case MetricKind::kHardware:
      break;
  }
  return GroupKind::kHardware;
}

// Metrics of one counter: what a part of a group takes or leaves as a whole.
struct Unit {
  // Counters, each with all its rollups, that may be counted instead if these do not fit.
  struct Spelling {
    std::vector<Names> counters;  // More than one: "c+d".
    Names missing;                // Rollups that the chip does not have.
  };

  std::string asked_for;  // For `dropped`.
  Names metrics;
  std::vector<Spelling> others;  // Next best first.
};

class Planner {
 public:
  explicit Planner(const ChipOracle& oracle) : oracle_(oracle) {}

  CounterPlan Plan(const CounterRequest& request) {
    for (const CounterSpec& anchor : AnchorCounters()) {
      for (Unit& unit : UnitsOf(anchor)) Append(unit.metrics, &anchors_);
    }
    if (!request.metrics.empty()) {
      PlanList(request.metrics);
    } else {
      PlanSet(request.set);
    }
    return std::move(plan_);
  }

 private:
  void Drop(std::string_view name, DropReason reason, const std::string& why) {
    std::string printable = PrintableMetricName(name);
    if (!dropped_.insert({printable, reason}).second) return;  // In two groups of a set.
    std::string text = printable + " " + why;
    plan_.dropped.push_back({std::move(printable), reason, std::move(text)});
  }

  void DropUnit(const Unit& unit, DropReason reason, const std::string& why) {
    if (!unit.asked_for.empty()) return Drop(unit.asked_for, reason, why);
    for (const std::string& metric : unit.metrics) Drop(metric, reason, why);
  }

  // ----------------------------------------------------------------------------------------------- what there is

  // The metrics of a counter that exist. Empty where the first rollup does not, for the counter is then another.
  Names Existing(std::string_view counter, std::string_view rollups, Names* missing) const {
    Names found;
    for (const std::string_view rollup : Split(rollups, ' ')) {
      std::string metric(counter);
      metric += rollup;
      if (oracle_.exists(metric)) {
        found.push_back(std::move(metric));
      } else if (found.empty()) {
        return found;
      } else {
        missing->push_back(std::move(metric));
      }
    }
    return found;
  }

  // The units for one counter of a set: one, or two for "c+d", or none where no spelling exists on the chip.
  std::vector<Unit> UnitsOf(const CounterSpec& spec) {
    std::vector<Unit::Spelling> spellings;
    for (const std::string_view spelling : Split(spec.counter, '|')) {
      Unit::Spelling candidate;
      bool complete = true;
      for (const std::string_view counter : Split(spelling, '+')) {
        Names metrics = Existing(counter, spec.rollups, &candidate.missing);
        complete = complete && !metrics.empty();
        candidate.counters.push_back(std::move(metrics));
      }
      if (complete) spellings.push_back(std::move(candidate));
    }
    std::string name(spec.counter.substr(0, spec.counter.find('|')));
    if (spec.rollups.find(' ') == std::string_view::npos) name += spec.rollups;
    if (spellings.empty()) {
      Drop(name, DropReason::kDoesNotExist, std::string(kDoesNotExist));
      return {};
    }
    std::reverse(spellings.begin(), spellings.end());
    return TakeNext(Unit{name, {}, std::move(spellings)});
  }

  // Moves on to the next best spelling, which is at the back. None: there is no other.
  std::vector<Unit> TakeNext(Unit unit) {
    std::vector<Unit> units;
    if (unit.others.empty()) return units;
    const Unit::Spelling next = std::move(unit.others.back());
    unit.others.pop_back();
    for (const std::string& metric : next.missing) DropMissing(metric);
    for (const Names& metrics : next.counters) {
      units.push_back({unit.asked_for, metrics, next.counters.size() == 1 ? unit.others : decltype(unit.others){}});
    }
    return units;
  }

  void DropMissing(const std::string& metric) {
    std::string why(kDoesNotExist);
    if (RollupOfMetric(metric).empty()) {
      const std::string with_rollup = metric + ".sum";
      why = "is not a metric, which ends in a rollup such as .sum, .avg or .max";
      if (oracle_.exists(with_rollup)) why += "; ask for " + with_rollup;
    } else if (const std::string other = OtherSpelling(metric); !other.empty()) {
      why += "; here it is " + other;
    }
    Drop(metric, DropReason::kDoesNotExist, why);
  }

  // The name on this chip of a metric that the sets know under several.
  std::string OtherSpelling(const std::string& metric) const {
    for (const GroupSpec& group : AllGroups()) {
      for (const CounterSpec& spec : group.counters) {
        const std::vector<std::string_view> spellings = Split(spec.counter, '|');
        if (std::find(spellings.begin(), spellings.end(), CounterOfMetric(metric)) == spellings.end()) continue;
        for (const std::string_view spelling : spellings) {
          std::string other(spelling);
          other += RollupOfMetric(metric);
          if (spelling.find('+') == std::string_view::npos && oracle_.exists(other)) return other;
        }
      }
    }
    return {};
  }

  // ---------------------------------------------------------------------------------------------- what fits

  // Passes for `metrics` as asked last; nothing: refused, or no calls are left.
  std::optional<int> Passes(const Names& metrics) {
    if (plan_.oracle_calls >= kMaxOracleCalls) return std::nullopt;
    ++plan_.oracle_calls;
    return oracle_.passes(metrics);
  }

  bool OutOfCalls() const { return plan_.oracle_calls >= kMaxOracleCalls; }

  static Names With(const Names& begun, std::span<const Unit> units) {
    Names metrics = begun;
    for (const Unit& unit : units) Append(unit.metrics, &metrics);
    return metrics;
  }

  struct Part {
    Names metrics;
    std::vector<Unit> left;  // For further parts.
  };

  // Fills one part of a group from the front of `units`: as many as fit, passing over those that do not. `begun`: what
  // every part holds. Units that do not fit even alone take their next spelling, or are dropped.
  Part FillPart(const Names& begun, std::vector<Unit> units) {
    Part part;
    int passed_over = 0;
    size_t next = 0;
    while (next < units.size() && passed_over < kMaxPassedOver && !OutOfCalls()) {
      const Names& base = part.metrics.empty() ? begun : part.metrics;
      const std::span<const Unit> rest(units.data() + next, units.size() - next);
      Names all = With(base, rest);
      std::optional<int> refusal = Passes(all);
      if (refusal == 1) {
        part.metrics = std::move(all);
        return part;
      }
      // The longest run of units from the front that fits: `fits` do, `fails` do not.
      size_t fits = 0;
      size_t fails = rest.size();
      Names fitting;
      while (fails - fits > 1 && !OutOfCalls()) {
        const size_t middle = fits + (fails - fits) / 2;
        Names some = With(base, rest.first(middle));
        const std::optional<int> passes = Passes(some);
        if (passes == 1) {
          fits = middle;
          fitting = std::move(some);
        } else {
          fails = middle;
          refusal = passes;
        }
      }
      if (fits > 0) part.metrics = std::move(fitting);
      next += fits;
      if (fails - fits > 1) break;  // Out of calls.
      const Unit culprit = std::move(units[next]);
      ++next;
      ++passed_over;
      // With nothing in the part yet it was asked for alone. Else it is only if it has another spelling to try here.
      if (!part.metrics.empty()) {
        refusal = culprit.others.empty() ? 1 : Passes(With(begun, std::span(&culprit, 1)));
      }
      if (refusal == 1) {
        part.left.push_back(culprit);
        continue;
      }
      std::vector<Unit> replacements = TakeNext(culprit);
      if (replacements.empty()) {
        GiveUp(culprit, refusal);
        continue;
      }
      --next;
      units.erase(units.begin() + static_cast<ptrdiff_t>(next));
      units.insert(units.begin() + static_cast<ptrdiff_t>(next), std::make_move_iterator(replacements.begin()),
                   std::make_move_iterator(replacements.end()));
    }
    for (; next < units.size(); ++next) part.left.push_back(std::move(units[next]));
    return part;
  }

  // Plans `units` as one group, or as parts of it.
  void PlanGroup(const std::string& name, GroupKind kind, const Names& begun, std::vector<Unit> units, bool is_spare) {
    for (int number = 1; !units.empty() && !OutOfCalls();) {
      Part part = FillPart(begun, std::move(units));
      units = std::move(part.left);
      if (part.metrics.empty()) continue;
      const std::string suffix = number == 1 ? "" : "." + std::to_string(number);
      plan_.groups.push_back({name + suffix, kind, is_spare, std::move(part.metrics)});
      ++number;
    }
    for (const Unit& unit : units) {
      DropUnit(unit, DropReason::kNotAsked,
               "was not planned: the list takes more than " + std::to_string(kMaxOracleCalls) +
                   " questions to CUPTI; ask for less");
    }
  }

  // A unit that does not fit into a pass alone.
  void GiveUp(const Unit& unit, std::optional<int> passes) {
    if (!passes && OutOfCalls()) {
      return DropUnit(unit, DropReason::kNotAsked, "was not planned: too many questions to CUPTI; ask for less");
    }
    const std::string& metric = unit.metrics.front();
    if (may_be_of_the_device_ && KindOfMetric(metric) == MetricKind::kHardware && Passes(unit.metrics) == 1) {
      of_the_device_.push_back(unit);
      return;
    }
    if (!passes || *passes < 1) return DropUnit(unit, DropReason::kRefused, "is refused by CUPTI, even alone");
    std::string why = "needs " + std::to_string(*passes) + " passes even alone, and a launch runs once";
    Names raw;
    for (std::string& candidate : RawMetricsFor(metric)) {
      if (oracle_.exists(candidate)) raw.push_back(std::move(candidate));
    }
    if (!raw.empty()) why += "; ask for " + Listed(raw);
    DropUnit(unit, DropReason::kSeveralPasses, why);
  }

  // ---------------------------------------------------------------------------------------------- a set

  void PlanSet(CounterSet set) {
    std::vector<const GroupSpec*> roaming;
    std::set<std::string> tensor_paths;  // Planned in an earlier tensor group.
    for (const GroupSpec& spec : AllGroups()) {
      if (!spec.IsIn(set)) continue;
      if (!spec.only_with.empty() && !oracle_.exists(std::string(spec.only_with))) continue;
      if (spec.roams) {
        roaming.push_back(&spec);
        continue;
      }
      std::vector<Unit> units = UnitsOfGroup(spec);
      if (spec.kind == GroupKind::kTensor) {
        std::erase_if(units, [&](const Unit& unit) { return tensor_paths.contains(unit.metrics.front()); });
      }
      const size_t before = plan_.groups.size();
      PlanGroup(std::string(spec.name), spec.kind, BegunWith(spec), std::move(units), false);
      if (spec.kind != GroupKind::kTensor) continue;
      for (size_t i = before; i < plan_.groups.size(); ++i) {
        tensor_paths.insert(plan_.groups[i].metrics.begin(), plan_.groups[i].metrics.end());
      }
    }
    for (const GroupSpec* spec : roaming) PlaceWhereThereIsRoom(*spec);
  }

  // Without what every part holds anyway.
  std::vector<Unit> UnitsOfGroup(const GroupSpec& spec) {
    std::vector<Unit> units;
    const Names begun = BegunWith(spec);
    for (const CounterSpec& counter : spec.counters) {
      for (Unit& unit : UnitsOf(counter)) {
        std::erase_if(unit.metrics, [&](const std::string& metric) { return Holds(begun, metric); });
        if (!unit.metrics.empty()) units.push_back(std::move(unit));
      }
    }
    return units;
  }

  Names BegunWith(const GroupSpec& spec) {
    Names begun;
    if (HasAnchors(spec.kind)) begun = anchors_;
    for (const CounterSpec& counter : spec.in_every_part) {
      for (const Unit& unit : UnitsOf(counter)) Append(unit.metrics, &begun);
    }
    return begun;
  }

  void PlaceWhereThereIsRoom(const GroupSpec& spec) {
    std::vector<Unit> units = UnitsOfGroup(spec);
    if (units.empty()) return;
    for (const GroupKind kind : {GroupKind::kHardware, GroupKind::kTensor}) {
      for (PlannedGroup& group : plan_.groups) {
        if (group.kind != kind) continue;
        Names together = With(group.metrics, units);
        if (Passes(together) != 1) continue;
        group.metrics = std::move(together);
        group.is_for_all = kind == GroupKind::kTensor;
        return;
      }
    }
    if (spec.only_where_room) {
      for (const Unit& unit : units)
        DropUnit(unit, DropReason::kSeveralPasses, "needs a pass of its own here, which it is not worth");
      return;
    }
    PlanGroup(std::string(spec.name), spec.kind, BegunWith(spec), std::move(units), true);
  }

  // ---------------------------------------------------------------------------------------------- the user's list

  void PlanList(const Names& list) {
    may_be_of_the_device_ = true;
    struct Kind {
      GroupKind kind;
      std::string_view name;
      std::vector<Unit> units;
    };
    std::vector<Kind> kinds = {{GroupKind::kHardware, "user", {}},
                               {GroupKind::kSass, "user_sass", {}},
                               {GroupKind::kPcie, "user_pcie", {}},
                               {GroupKind::kNvlink, "user_nvlink", {}},
                               {GroupKind::kDevice, "user_device", {}}};
    bool has_anchor = false;
    for (const std::string& metric : Usable(list)) {
      if (Holds(anchors_, metric)) {
        has_anchor = true;
        continue;
      }
      const GroupKind kind = GroupKindOf(KindOfMetric(metric));
      std::vector<Unit>& units =
          std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) { return k.kind == kind; })->units;
      const auto same_counter = std::find_if(units.begin(), units.end(), [&](const Unit& unit) {
        return CounterOfMetric(unit.metrics.front()) == CounterOfMetric(metric);
      });
      if (same_counter != units.end()) {
        same_counter->metrics.push_back(metric);
      } else {
        units.push_back({"", {metric}, {}});
      }
    }
    // Rollups of a counter stay together where they can: a percentage may need more than the counter.
    for (Kind& kind : kinds) {
      for (Unit& unit : kind.units) {
        if (unit.metrics.size() < 2) continue;
        Unit::Spelling apart;
        for (const std::string& metric : unit.metrics) apart.counters.push_back({metric});
        unit.others.push_back(std::move(apart));
      }
    }
    for (Kind& kind : kinds) {
      if (kind.kind == GroupKind::kDevice) {
        for (Unit& unit : of_the_device_) kind.units.push_back(std::move(unit));
        may_be_of_the_device_ = false;
      }
      PlanGroup(std::string(kind.name), kind.kind, HasAnchors(kind.kind) ? anchors_ : Names(), std::move(kind.units),
                false);
    }
    // Anchors alone have no group to be in.
    const bool none_has_anchors = std::none_of(plan_.groups.begin(), plan_.groups.end(),
                                               [](const PlannedGroup& group) { return HasAnchors(group.kind); });
    if (has_anchor && none_has_anchors) {
      PlanGroup("user", GroupKind::kHardware, {}, {Unit{"", anchors_, {}}}, false);
    }
  }

  // The metrics of the list that can be planned at all; the others are dropped by name.
  Names Usable(const Names& list) {
    Names usable;
    std::set<std::string_view> seen;
    for (const std::string& metric : list) {
      const bool is_printable = std::all_of(metric.begin(), metric.end(), [](char c) { return c > 0x20 && c < 0x7f; });
      if (metric.empty()) {
        Drop("\"\"", DropReason::kMalformed, "is not the name of a metric");
      } else if (metric.size() > kMaxMetricNameBytes) {
        Drop(metric, DropReason::kMalformed,
             "has " + std::to_string(metric.size()) + " bytes, the name of a metric at most " +
                 std::to_string(kMaxMetricNameBytes));
      } else if (!is_printable) {
        Drop(metric, DropReason::kMalformed, "has bytes that the name of a metric cannot have");
      } else if (!seen.insert(metric).second) {
        Drop(metric, DropReason::kRepeated, "is in the list more than once");
      } else if (seen.size() > kMaxRequestedMetrics) {
        Drop(metric, DropReason::kTooMany,
             "was not planned: the list has more than " + std::to_string(kMaxRequestedMetrics) + " metrics");
      } else if (RollupOfMetric(metric).empty() || !oracle_.exists(metric)) {
        DropMissing(metric);
      } else {
        usable.push_back(metric);
      }
    }
    return usable;
  }

  const ChipOracle& oracle_;
  CounterPlan plan_;
  std::set<std::pair<std::string, DropReason>> dropped_;
  Names anchors_;
  // Only in the user's list: a metric that does not fit beside the anchors may belong to the device, of a unit that
  // metric_name.cc does not know.
  bool may_be_of_the_device_ = false;
  std::vector<Unit> of_the_device_;
};

}  // namespace

CounterPlan PlanCounters(const CounterRequest& request, const ChipOracle& oracle) noexcept {
  try {
    return Planner(oracle).Plan(request);
  } catch (...) {
    CounterPlan nothing;
    nothing.failed = true;
    return nothing;
  }
}

CounterRequest ParseCounterRequest(std::string_view text) {
  CounterRequest request;
  if (const std::optional<CounterSet> set = ParseCounterSet(text)) {
    request.set = *set;
  } else {
    for (const std::string_view metric : Split(text, ',')) request.metrics.emplace_back(metric);
  }
  return request;
}

std::vector<GroupPair> PairsOf(const std::vector<PlannedGroup>& groups,
                               const std::function<std::optional<int>(const std::vector<std::string>&)>& passes) {
  const auto first_of = [&](GroupKind kind) {
    return std::find_if(groups.begin(), groups.end(), [kind](const PlannedGroup& group) { return group.kind == kind; });
  };
  std::vector<GroupPair> pairs;
  const auto sass = first_of(GroupKind::kSass);
  if (sass == groups.end()) return pairs;
  for (const GroupKind kind : {GroupKind::kHardware, GroupKind::kTensor}) {
    const auto first = first_of(kind);
    if (first == groups.end()) continue;
    std::vector<std::string> together = first->metrics;
    together.insert(together.end(), sass->metrics.begin(), sass->metrics.end());
    if (passes(together) != 2) continue;
    pairs.push_back({static_cast<uint32_t>(first - groups.begin()), static_cast<uint32_t>(sass - groups.begin())});
  }
  return pairs;
}

}  // namespace gx::inject
