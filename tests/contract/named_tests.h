// Tests that documents name: which there are, by reading the sources under tests/. For tests of such documents.
#ifndef GPUEXEC_TESTS_CONTRACT_NAMED_TESTS_H_
#define GPUEXEC_TESTS_CONTRACT_NAMED_TESTS_H_

#include <map>
#include <string>
#include <vector>

namespace gx::contract {

// A file of the repository, "" where there is none.
std::string ReadSource(const std::string& path);

// "Suite.Name" of every TEST, TEST_F and TEST_P below tests/, with the text of the file that has it.
std::map<std::string, std::string> AllTests();

// What stands in backquotes and looks like the name of a test, `Suite.Name` or `Suite.Name/Case`, in order.
std::vector<std::string> NamedTests(const std::string& text);

// What is wrong with such a name, "" where nothing is: no such test, or no such case in the file of the test.
std::string ProblemOf(const std::string& name, const std::map<std::string, std::string>& tests);

}  // namespace gx::contract

#endif  // GPUEXEC_TESTS_CONTRACT_NAMED_TESTS_H_
