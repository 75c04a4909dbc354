// The worked example of proto/README.md: its bytes are those that the encoder writes for the records below, and its
// text is what they say. When the format changes, the failing test prints what the document has to hold.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>

#include "gpuexec/v1/trace.pb.h"
#include "inject/record.h"
#include "inject/self_stats.h"
#include "inject/trace_encoder.h"

namespace gx::inject {
namespace {

namespace v1 = gpuexec::v1;

std::string EncodeExample() {
  TraceEncoder encoder;
  HeaderRecord header;
  header.gpuexec_version = "0.1.0";
  header.command_line = {"./axpy"};
  header.pid = 4242;
  header.start = {.cupti_ns = 4'890'000,
                  .monotonic_ns = 890'000,
                  .monotonic_raw_ns = 890'120,
                  .realtime_ns = 1'764'500'000'000'890'000};
  encoder.SetHeader(header);
  encoder.AddName(1, "_Z4axpyfPKfPf");
  encoder.AddTrack({.iid = 1, .device_id = 0, .context_id = 1, .stream_id = 7});
  FunctionRecord function;
  function.iid = 1;
  function.name_iid = 1;
  encoder.AddFunction(function);
  SignatureRecord signature;
  signature.iid = 1;
  signature.function_iid = 1;
  signature.grid = {64, 1, 1};
  signature.block = {256, 1, 1};
  encoder.AddSignature(signature);
  KernelAttributesRecord attributes;
  attributes.iid = 1;
  attributes.name_iid = 1;
  attributes.grid = signature.grid;
  attributes.block = signature.block;
  attributes.registers_per_thread = 16;
  encoder.AddKernelAttributes(attributes);
  encoder.AddWindow({.window_id = 1, .begin_monotonic_ns = 900'000, .end_monotonic_ns = {}});

  struct Call {
    uint64_t enter_ns, start_ns, duration_ns, correlation_id;
  };
  for (const Call& call : {Call{1'000'000, 5'000'000, 1'088, 10}, Call{1'004'500, 5'004'608, 1'056, 11},
                           Call{1'009'100, 5'009'152, 1'088, 13}}) {
    encoder.AddLaunch({.thread_id = 4242,
                       .window_id = 1,
                       .enter_monotonic_ns = call.enter_ns,
                       .correlation_id = call.correlation_id,
                       .track_iid = 1,
                       .signature_iid = 1});
    encoder.AddKernel({.start_ns = call.start_ns,
                       .end_ns = call.start_ns + call.duration_ns,
                       .correlation_id = call.correlation_id,
                       .track_iid = 1,
                       .attributes_iid = 1});
  }
  encoder.AddClockPair({.cupti_ns = 4'990'000,
                        .monotonic_ns = 990'000,
                        .monotonic_raw_ns = 990'120,
                        .realtime_ns = 1'764'500'000'000'990'000});
  SelfStats stats;
  stats.Add(StatId::kLaunchesSeen, 3);
  stats.Add(StatId::kKernelRecords, 3);
  encoder.SetStats(stats);
  return std::string(encoder.FinishFrame());
}

// The contents of the first ```LANGUAGE block.
std::string Block(const std::string& document, const std::string& language) {
  const std::string opening = "```" + language + "\n";
  const size_t begin = document.find(opening);
  if (begin == std::string::npos) return "";
  const size_t end = document.find("```", begin + opening.size());
  return document.substr(begin + opening.size(), end - begin - opening.size());
}

std::string Hex(std::string_view bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    char digits[4];
    std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned char>(bytes[i]));
    text += digits;
    text += (i % 32 == 31 || i + 1 == bytes.size()) ? '\n' : ' ';
  }
  return text;
}

TEST(FormatDocument, ExampleIsWhatTheEncoderWritesAndWhatItSays) {
  std::ifstream in(std::string(GX_SOURCE_DIR) + "/proto/README.md");
  const std::string document{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const std::string bytes = EncodeExample();
  v1::Trace actual;
  ASSERT_TRUE(actual.ParseFromString(bytes));

  EXPECT_EQ(Block(document, "hex"), Hex(bytes));
  v1::Trace stated;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(Block(document, "textproto"), &stated));
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(stated, actual)) << actual.DebugString();
}

}  // namespace
}  // namespace gx::inject
