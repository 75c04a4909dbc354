// A library that needs a symbol that no library has.
extern "C" int gx_symbol_that_no_library_has();

extern "C" __attribute__((visibility("default"))) int GxUse() { return gx_symbol_that_no_library_has(); }
