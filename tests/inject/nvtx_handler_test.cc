#include "inject/nvtx_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "inject/clock.h"
#include "inject/record.h"
#include "inject/self_stats.h"
#include "tests/inject/nvtx_user.h"

extern "C" int (*gx_nvtx_initialize)(const void* (*)(uint32_t));

namespace gx::inject {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Seen {
  NvtxEvent event;
  std::string text;
  std::string payload;
};

// One for the process, as in the library: NVTX asks for a handler once a copy.
ThreadQueues& Queues() {
  static ThreadQueues* queues = [] {
    auto* made = new ThreadQueues;
    EXPECT_TRUE(made->Allocate(uint64_t{64} << 20));
    return made;
  }();
  return *queues;
}
int g_installed = 0;

class NvtxHandlerTest : public ::testing::Test {
 protected:
  NvtxHandlerTest() {
    Stats().Reset();
    gx_nvtx_initialize = [](const void* (*get_export_table)(uint32_t)) {
      ++g_installed;
      return InstallNvtxHandler(get_export_table, &Queues()) ? 1 : 0;
    };
    setenv("NVTX_INJECTION64_PATH", GX_NVTX_FORWARDER, 1);
    a_ = gx_nvtx_calls_a();
    b_ = gx_nvtx_calls_b();
    a_->pop();
    b_->pop();
    SetNvtxEnabled(true);
    (void)Events();
    Stats().Reset();
  }

  std::vector<Seen> Events() {
    std::vector<Seen> all;
    Queues().ForEach([&](ThreadState& thread) {
      thread.queue.Drain([&](EventType type, const uint8_t* data, uint32_t bytes) {
        EXPECT_EQ(type, EventType::kNvtx);
        Seen seen;
        std::memcpy(&seen.event, data, sizeof(seen.event));
        const auto* behind = reinterpret_cast<const char*>(data + sizeof(seen.event));
        EXPECT_LE(sizeof(seen.event) + seen.event.text_bytes + seen.event.payload_bytes, bytes);
        seen.text.assign(behind, seen.event.text_bytes);
        seen.payload.assign(behind + seen.event.text_bytes, seen.event.payload_bytes);
        all.push_back(std::move(seen));
      });
    });
    return all;
  }
  Seen OnlyEvent() {
    std::vector<Seen> all = Events();
    EXPECT_THAT(all, SizeIs(1));
    return all.empty() ? Seen() : all[0];
  }
  static NvtxKind KindOf(const Seen& seen) { return static_cast<NvtxKind>(seen.event.kind); }
  static nvtxEventAttributes_t Attributes(const char* text) {
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = text;
    return attributes;
  }

  const NvtxCalls* a_ = nullptr;
  const NvtxCalls* b_ = nullptr;
};

TEST_F(NvtxHandlerTest, EachLibrarysCopyOfNvtxGetsTheHandlerOnce) {
  EXPECT_EQ(g_installed, 2);
  a_->push_a("of the first");
  b_->push_a("of the second");
  a_->pop();
  b_->pop();
  const auto events = Events();
  ASSERT_THAT(events, SizeIs(4));
  EXPECT_EQ(events[0].text, "of the first");
  EXPECT_EQ(events[1].text, "of the second");
}

TEST_F(NvtxHandlerTest, PushAndPopAreOneRangeEach) {
  const uint64_t before_ns = MonotonicNs();
  EXPECT_EQ(a_->push_a("step"), NVTX_NO_PUSH_POP_TRACKING) << "as without a tool";
  EXPECT_EQ(a_->pop(), NVTX_NO_PUSH_POP_TRACKING);
  const auto events = Events();
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(KindOf(events[0]), NvtxKind::kPush);
  EXPECT_EQ(events[0].text, "step");
  EXPECT_EQ(events[0].event.domain_index, 1u);
  EXPECT_GE(events[0].event.monotonic_ns, before_ns);
  EXPECT_EQ(KindOf(events[1]), NvtxKind::kPop);
  EXPECT_EQ(events[1].text, "");
  EXPECT_GE(events[1].event.monotonic_ns, events[0].event.monotonic_ns);
  EXPECT_EQ(Stats().Get(StatId::kNvtxEvents), 2u);
}

TEST_F(NvtxHandlerTest, StartAndEndAreJoinedByTheRangesNumber) {
  const nvtxRangeId_t first = a_->start_a("first");
  const nvtxRangeId_t second = b_->start_a("second");
  EXPECT_NE(first, second);
  EXPECT_NE(first, 0u);
  b_->end(first);
  const auto events = Events();
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(KindOf(events[0]), NvtxKind::kStart);
  EXPECT_EQ(events[0].event.range_id, first);
  EXPECT_EQ(events[1].event.range_id, second);
  EXPECT_EQ(KindOf(events[2]), NvtxKind::kEnd);
  EXPECT_EQ(events[2].event.range_id, first);
}

TEST_F(NvtxHandlerTest, AMarkIsAnEvent) {
  a_->mark_a("here");
  const Seen seen = OnlyEvent();
  EXPECT_EQ(KindOf(seen), NvtxKind::kMark);
  EXPECT_EQ(seen.text, "here");
}

TEST_F(NvtxHandlerTest, WideTextIsWrittenAsUtf8) {
  a_->mark_w(L"a\u00e9\u20ac\U0001F600");
  EXPECT_EQ(OnlyEvent().text, "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  a_->push_w(L"pushed");
  EXPECT_EQ(OnlyEvent().text, "pushed");
  a_->end(a_->start_w(L"started"));
  EXPECT_EQ(Events().at(0).text, "started");
  auto attributes = Attributes(nullptr);
  attributes.messageType = NVTX_MESSAGE_TYPE_UNICODE;
  attributes.message.unicode = L"in attributes";
  a_->mark_ex(&attributes);
  EXPECT_EQ(OnlyEvent().text, "in attributes");
}

TEST_F(NvtxHandlerTest, LongTextIsCut) {
  const std::string text(100'000, 'x');
  a_->mark_a(text.c_str());
  EXPECT_EQ(OnlyEvent().text, text.substr(0, 4096));
  const std::wstring wide(100'000, L'\u20ac');
  a_->mark_w(wide.c_str());
  const std::string seen = OnlyEvent().text;
  EXPECT_GT(seen.size(), 4'000u);
  EXPECT_LE(seen.size(), 4'096u);
  EXPECT_EQ(seen.size() % 3, 0u) << "no character is cut";
}

TEST_F(NvtxHandlerTest, NullMessagesAreEventsWithoutAName) {
  a_->push_a(nullptr);
  a_->push_w(nullptr);
  a_->push_ex(nullptr);
  a_->mark_a(nullptr);
  a_->mark_ex(nullptr);
  (void)a_->start_a(nullptr);
  (void)a_->start_ex(nullptr);
  auto attributes = Attributes(nullptr);
  a_->push_ex(&attributes);
  attributes.messageType = NVTX_MESSAGE_TYPE_UNICODE;
  a_->push_ex(&attributes);
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  a_->push_ex(&attributes);
  attributes.messageType = NVTX_MESSAGE_UNKNOWN;
  a_->push_ex(&attributes);
  const auto events = Events();
  ASSERT_THAT(events, SizeIs(11));
  for (const Seen& seen : events) EXPECT_EQ(seen.text, "");
}

TEST_F(NvtxHandlerTest, PayloadsOfEveryTypeAreText) {
  const auto payload_of = [&](int32_t type, auto set) {
    auto attributes = Attributes("p");
    attributes.payloadType = type;
    set(&attributes.payload);
    a_->mark_ex(&attributes);
    return OnlyEvent().payload;
  };
  EXPECT_EQ(payload_of(NVTX_PAYLOAD_TYPE_UNSIGNED_INT64, [](auto* p) { p->ullValue = ~uint64_t{0}; }),
            "18446744073709551615");
  EXPECT_EQ(payload_of(NVTX_PAYLOAD_TYPE_INT64, [](auto* p) { p->llValue = INT64_MIN; }), "-9223372036854775808");
  EXPECT_EQ(payload_of(NVTX_PAYLOAD_TYPE_UNSIGNED_INT32, [](auto* p) { p->uiValue = 4'000'000'000u; }), "4000000000");
  EXPECT_EQ(payload_of(NVTX_PAYLOAD_TYPE_INT32, [](auto* p) { p->iValue = -5; }), "-5");
  EXPECT_EQ(payload_of(NVTX_PAYLOAD_TYPE_DOUBLE, [](auto* p) { p->dValue = 0.5; }), "0.5");
  EXPECT_EQ(payload_of(NVTX_PAYLOAD_TYPE_FLOAT, [](auto* p) { p->fValue = -0.25f; }), "-0.25");
  EXPECT_EQ(payload_of(NVTX_PAYLOAD_TYPE_DOUBLE, [](auto* p) { p->dValue = -1.7976931348623157e308; }),
            "-1.7976931348623157e+308");
  EXPECT_EQ(payload_of(NVTX_PAYLOAD_UNKNOWN, [](auto*) {}), "");
  EXPECT_EQ(payload_of(12345, [](auto*) {}), "");
}

TEST_F(NvtxHandlerTest, ADomainOfANameIsOneDomainInEveryLibrary) {
  const nvtxDomainHandle_t domain = a_->create_a("gx.test");
  ASSERT_NE(domain, nullptr);
  EXPECT_EQ(b_->create_a("gx.test"), domain);
  EXPECT_EQ(b_->create_w(L"gx.test"), domain);
  EXPECT_NE(b_->create_a("gx.other"), domain);
  auto attributes = Attributes("in the domain");
  a_->domain_push_ex(domain, &attributes);
  a_->domain_mark_ex(domain, &attributes);
  const nvtxRangeId_t range = a_->domain_start_ex(domain, &attributes);
  a_->domain_end(domain, range);
  a_->domain_pop(domain);
  const auto events = Events();
  ASSERT_THAT(events, SizeIs(5));
  const NvtxKind kinds[] = {NvtxKind::kPush, NvtxKind::kMark, NvtxKind::kStart, NvtxKind::kEnd, NvtxKind::kPop};
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(KindOf(events[i]), kinds[i]);
    EXPECT_EQ(NvtxDomainName(events[i].event.domain_index), "gx.test");
  }
  EXPECT_EQ(events[2].event.range_id, range);
  EXPECT_EQ(events[3].event.range_id, range);
  a_->destroy(domain);
  EXPECT_EQ(NvtxDomainName(events[0].event.domain_index), "gx.test") << "queued events still need its name";
}

TEST_F(NvtxHandlerTest, ADomainWithoutANameIsADomain) {
  const nvtxDomainHandle_t domain = a_->create_a(nullptr);
  EXPECT_EQ(b_->create_a(nullptr), domain);
  EXPECT_EQ(b_->create_w(nullptr), domain);
  EXPECT_EQ(b_->create_a(""), domain);
}

TEST_F(NvtxHandlerTest, TheDefaultDomainHasNoName) {
  EXPECT_EQ(NvtxDomainName(0), "");
  EXPECT_EQ(NvtxDomainName(1), "");
  EXPECT_EQ(NvtxDomainName(100'000), "");
  auto attributes = Attributes("x");
  a_->domain_mark_ex(nullptr, &attributes);
  EXPECT_EQ(OnlyEvent().event.domain_index, 1u);
}

TEST_F(NvtxHandlerTest, RegisteredStringsOfOneLibraryServeAnother) {
  const nvtxDomainHandle_t domain = a_->create_a("gx.test");
  auto attributes = Attributes(nullptr);
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = a_->register_a(domain, "registered");
  b_->domain_push_ex(domain, &attributes);
  EXPECT_EQ(OnlyEvent().text, "registered");
  attributes.message.registered = a_->register_w(domain, L"wide \u20ac");
  b_->push_ex(&attributes);
  EXPECT_EQ(OnlyEvent().text, "wide \xE2\x82\xAC");
}

TEST_F(NvtxHandlerTest, CallsThatAreNotFollowedDoNothing) {
  a_->name_category_a(1, "category");
  EXPECT_THAT(Events(), IsEmpty());
}

TEST_F(NvtxHandlerTest, NothingIsQueuedWhileItIsSwitchedOff) {
  SetNvtxEnabled(false);
  a_->push_a("lost");
  EXPECT_NE(a_->start_a("lost"), 0u) << "the program still gets a number";
  a_->pop();
  EXPECT_THAT(Events(), IsEmpty());
  SetNvtxEnabled(true);
  a_->push_a("kept");
  EXPECT_EQ(OnlyEvent().text, "kept");
}

TEST_F(NvtxHandlerTest, AFullQueueLosesEventsAndCountsThem) {
  constexpr uint64_t kCalls = 100'000;
  for (uint64_t i = 0; i < kCalls; ++i) a_->push_a("one of very many");
  const uint64_t dropped = Stats().Get(StatId::kNvtxDroppedQueueFull);
  EXPECT_GT(dropped, 0u);
  EXPECT_EQ(Stats().Get(StatId::kNvtxEvents) + dropped, kCalls);
  EXPECT_EQ(Events().size(), kCalls - dropped);
}

TEST_F(NvtxHandlerTest, ThreadsKeepTheirOwnOrder) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const NvtxCalls* calls = t % 2 == 0 ? a_ : b_;
      for (int i = 0; i < 200; ++i) {
        auto attributes = Attributes("step");
        attributes.payloadType = NVTX_PAYLOAD_TYPE_INT32;
        attributes.payload.iValue = i;
        const nvtxDomainHandle_t domain = calls->create_a(("domain " + std::to_string(i % 10)).c_str());
        calls->domain_push_ex(domain, &attributes);
        calls->domain_pop(domain);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Stats().Get(StatId::kNvtxDroppedQueueFull), 0u);
  const auto events = Events();
  ASSERT_THAT(events, SizeIs(4 * 200 * 2));
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(KindOf(events[i]), i % 2 == 0 ? NvtxKind::kPush : NvtxKind::kPop);
    if (i % 2 == 0) {
      EXPECT_EQ(events[i].payload, std::to_string(i / 2 % 200));
      EXPECT_EQ(NvtxDomainName(events[i].event.domain_index), "domain " + std::to_string(i / 2 % 10));
    }
  }
}

TEST(InstallNvtxHandler, RefusesWhatItDoesNotKnow) {
  EXPECT_FALSE(InstallNvtxHandler(nullptr, &Queues()));
  EXPECT_FALSE(InstallNvtxHandler([](uint32_t) -> const void* { return nullptr; }, &Queues()));
  EXPECT_FALSE(InstallNvtxHandler(
      [](uint32_t) -> const void* {
        static const NvtxExportTableCallbacks small = {4, nullptr};
        return &small;
      },
      &Queues()));
  EXPECT_FALSE(InstallNvtxHandler(
      [](uint32_t) -> const void* {
        static const NvtxExportTableCallbacks none = {
            sizeof(NvtxExportTableCallbacks), [](NvtxCallbackModule, NvtxFunctionTable*, unsigned*) { return 0; }};
        return &none;
      },
      &Queues()));
}

}  // namespace
}  // namespace gx::inject
