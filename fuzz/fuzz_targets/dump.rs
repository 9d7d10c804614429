#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    loadhook_fuzz::dump(data);
});
