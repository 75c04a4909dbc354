// An injection library that cannot be loaded: it needs a symbol that no library has.
extern "C" int gx_symbol_that_no_library_has();

extern "C" __attribute__((visibility("default"))) int InitializeInjection() { return gx_symbol_that_no_library_has(); }
