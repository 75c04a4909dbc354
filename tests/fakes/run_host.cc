#include "tests/fakes/run_host.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace gx::fakes {
namespace {

std::string Unescape(const std::string& text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      result.push_back(static_cast<char>(std::strtoul(text.substr(i + 1, 2).c_str(), nullptr, 16)));
      i += 2;
    } else {
      result.push_back(text[i]);
    }
  }
  return result;
}

}  // namespace

std::string LogEntry::Text(const std::string& key) const {
  const auto found = values.find(key);
  return found == values.end() ? std::string() : found->second;
}

uint64_t LogEntry::Number(const std::string& key) const { return std::strtoull(Text(key).c_str(), nullptr, 10); }

std::vector<LogEntry> FakeLog::Of(const std::string& kind) const {
  std::vector<LogEntry> found;
  for (const LogEntry& entry : entries) {
    if (entry.kind == kind) found.push_back(entry);
  }
  return found;
}

std::vector<LogEntry> FakeLog::Of(const std::string& kind, const std::string& key, const std::string& value) const {
  std::vector<LogEntry> found;
  for (const LogEntry& entry : entries) {
    if (entry.kind == kind && entry.Text(key) == value) found.push_back(entry);
  }
  return found;
}

FakeLog ReadFakeLog(const std::string& path) {
  FakeLog log;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    LogEntry& entry = log.entries.emplace_back();
    words >> entry.kind;
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      if (equals == std::string::npos) continue;
      entry.values[word.substr(0, equals)] = Unescape(word.substr(equals + 1));
    }
  }
  return log;
}

Environment HostEnvironment(const std::string& folder, const Environment& more) {
  Environment environment = {
      {"LD_LIBRARY_PATH", GX_FAKES_DIR}, {"FAKE_GPU_LOG", folder + "/gpu.log"}, {"HOME", folder}};
  if (const char* value = std::getenv("UBSAN_OPTIONS")) environment["UBSAN_OPTIONS"] = value;
  // The library and the fakes keep what they have until the process is gone, and threads that run at its end: the leak
  // checker would stop them, and fail now and then.
  const char* asan_options = std::getenv("ASAN_OPTIONS");
  environment["ASAN_OPTIONS"] = std::string(asan_options == nullptr ? "" : asan_options) + ":detect_leaks=0";
  // A child of a forked host may start threads of its own.
  environment["TSAN_OPTIONS"] = "die_after_fork=0:halt_on_error=1:suppressions=" GX_TSAN_SUPPRESSIONS;
  for (const auto& [name, value] : more) environment[name] = value;
  return environment;
}

std::vector<std::string> HostCommand(const std::vector<std::string>& arguments, const Environment& environment) {
  std::vector<std::string> command = {"/usr/bin/env", "-i"};
  for (const auto& [name, value] : environment) command.push_back(name + "=" + value);
  command.push_back(GX_FAKE_HOST);
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

HostRun::HostRun(const std::vector<std::string>& arguments, const Environment& environment, const std::string& folder) {
  const Environment full = HostEnvironment(folder, environment);
  result = testing::RunCommand(HostCommand(arguments, full));
  log = ReadFakeLog(full.at("FAKE_GPU_LOG"));
}

}  // namespace gx::fakes
