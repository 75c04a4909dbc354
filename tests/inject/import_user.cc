// A library that calls another's function through its import table, as a program's libraries call libcupti.
extern "C" {

int gx_stub_function();
__attribute__((visibility("default"))) int gx_call_stub() { return gx_stub_function(); }
// The address is taken: a slot of the other kind.
__attribute__((visibility("default"))) int (*gx_stub_pointer())() { return gx_stub_function; }

}  // extern "C"
