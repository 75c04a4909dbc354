// gx-dump: any trace as text, damaged, cut and huge ones too. Options and exit codes only; the text is made in
// analysis/trace_dump.h.
#include <getopt.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "analysis/printable.h"
#include "analysis/trace_dump.h"
#include "analysis/trace_reader.h"
#include "google/protobuf/io/zero_copy_stream_impl.h"

namespace {

constexpr int kOk = 0;
constexpr int kDamaged = 1;
constexpr int kUsage = 2;
constexpr int kUnreadable = 3;

constexpr char kHelp[] =
    R"(usage: gx-dump [--records | --raw | --stats] [--limit N] FILE

Prints a gpuexec trace as text, frame by frame. FILE may be damaged, cut, of any size, or still be written to.

  (default)     packets as text proto, columns as lists
  --records     one line a definition and a decoded record
  --raw         whole frames with magic and checksum, as protoc --decode=gpuexec.v1.Trace prints them
  --stats       no contents: what the file is made of, in counts and bytes
  -n, --limit N stop after N frames
  -h, --help    this text

Lines that start with # say where frames and damage are. Names and other bytes are escaped: the output holds no
control bytes.

Exit status: 0 the trace is sound, 1 parts are damaged or missing (the rest was printed), 2 wrong usage,
3 the file could not be read or the output not be written.

Examples:
  gx-dump trace.pb | less
  gx-dump --records trace.pb | grep '^kernel '
  gx-dump --limit 1 trace.pb            # the header: program, machine, versions, settings
  gx-dump --stats trace.pb              # bytes for each kernel record
)";

int Usage(const std::string& problem) {
  std::cerr << "gx-dump: " << problem << "\nTry gx-dump --help.\n";
  return kUsage;
}

int Dump(const std::string& path, const gx::analysis::DumpOptions& options) {
  absl::StatusOr<std::unique_ptr<gx::analysis::TraceReader>> reader = gx::analysis::TraceReader::Open(path);
  if (!reader.ok()) {
    std::cerr << "gx-dump: " << reader.status().message() << "\n";
    return kUnreadable;
  }
  google::protobuf::io::FileOutputStream output(STDOUT_FILENO);
  absl::StatusOr<gx::analysis::DumpResult> result = gx::analysis::DumpTrace(**reader, options, &output);
  const bool flushed = output.Flush();
  if (!result.ok()) {
    std::cerr << "gx-dump: " << result.status().message() << "\n";
    return kUnreadable;
  }
  if (!result->written || !flushed) {
    std::cerr << "gx-dump: the output could not be written: " << std::strerror(output.GetErrno()) << "\n";
    return kUnreadable;
  }
  return result->damage_count > 0 ? kDamaged : kOk;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kRaw = 1;
  constexpr int kRecords = 2;
  constexpr int kStats = 3;
  static const option kOptions[] = {
      {"help", no_argument, nullptr, 'h'},     {"limit", required_argument, nullptr, 'n'},
      {"raw", no_argument, nullptr, kRaw},     {"records", no_argument, nullptr, kRecords},
      {"stats", no_argument, nullptr, kStats}, {nullptr, 0, nullptr, 0},
  };
  gx::analysis::DumpOptions options;
  int format_count = 0;
  // Ours says what is wrong: getopt's own message would print the argument as it is.
  opterr = 0;
  while (true) {
    const int got = ::getopt_long(argc, argv, ":hn:", kOptions, nullptr);
    if (got == -1) break;
    switch (got) {
      case 'h':
        std::cout << kHelp << std::flush;
        return std::cout.good() ? kOk : kUnreadable;
      case 'n':
        if (!absl::SimpleAtoi(optarg, &options.frame_limit)) {
          return Usage("--limit: expected a number of frames, got '" + gx::analysis::Printable(optarg) + "'");
        }
        break;
      case kRaw:
        options.format = gx::analysis::DumpFormat::kRaw;
        ++format_count;
        break;
      case kRecords:
        options.format = gx::analysis::DumpFormat::kRecords;
        ++format_count;
        break;
      case kStats:
        options.format = gx::analysis::DumpFormat::kStats;
        ++format_count;
        break;
      case ':':
        return Usage("--limit needs a number of frames");
      default: {
        // A short option stands in optopt, a long one in the argument just passed.
        const bool is_short = optopt >= ' ';
        return Usage(
            "'" + gx::analysis::Printable(is_short ? std::string("-") + static_cast<char>(optopt) : argv[optind - 1]) +
            "' is not an option");
      }
    }
  }
  if (format_count > 1) return Usage("--records, --raw and --stats exclude each other");
  if (optind == argc) return Usage("expected a trace file");
  if (optind + 1 < argc)
    return Usage("expected one trace file, got also '" + gx::analysis::Printable(argv[optind + 1]) + "'");
  return Dump(argv[optind], options);
}
