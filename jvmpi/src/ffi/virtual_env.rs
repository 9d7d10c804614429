//! The environment of a virtual thread. Its address is the thread's id, as with platform threads, and a profiler can
//! call JNI through it: each function forwards the call to the environment of the carrier that runs the virtual thread.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// True if there are such environments for this processor.
pub(super) const AVAILABLE: bool = cfg!(target_arch = "x86_64");

/// Number of functions in `JNINativeInterface_` up to JDK 25.
const FUNCTIONS: usize = 236;
/// Number of places at the beginning of that table that have no function.
const RESERVED: usize = 4;
/// Distance between the forwarding functions, in bytes.
#[cfg(target_arch = "x86_64")]
const STEP: usize = 16;

/// A `JNIEnv`. Addresses of environments are multiples of 16, see `announcing.rs`.
#[repr(C, align(16))]
pub(super) struct VirtualEnv {
    functions: *const Functions,
    /// Environment of the last carrier. Only the virtual thread itself may use its environment, and it then runs on
    /// this carrier. Events that come on another thread name the environment, but it must not be used there.
    carrier: AtomicPtr<c_void>,
}

// SAFETY: the table of functions never changes.
unsafe impl Send for VirtualEnv {}
// SAFETY: as above; the carrier is atomic.
unsafe impl Sync for VirtualEnv {}

#[repr(transparent)]
struct Functions([*const c_void; FUNCTIONS]);

// SAFETY: the table never changes.
unsafe impl Send for Functions {}
// SAFETY: as above.
unsafe impl Sync for Functions {}

impl VirtualEnv {
    /// Makes an environment that has no carrier yet.
    pub(super) fn new() -> Self {
        VirtualEnv {
            functions: functions(),
            carrier: AtomicPtr::new(null_mut()),
        }
    }

    /// Notes the environment of the carrier on which the virtual thread continues.
    pub(super) fn set_carrier(&self, env: *mut c_void) {
        self.carrier.store(env, Ordering::Release);
    }

    /// Returns the address of the environment.
    pub(super) fn id(&self) -> usize {
        std::ptr::from_ref(self).expose_provenance()
    }
}

// Functions of JNI may have any number of arguments, so each function here jumps: it replaces the first argument, the
// environment, by the carrier's, and goes to the function that the carrier's table has at this moment. Scratch
// registers are used that carry no argument.
#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".p2align 4",
    ".hidden loadhook_jvmpi_forward",
    ".globl loadhook_jvmpi_forward",
    ".type loadhook_jvmpi_forward, @function",
    "loadhook_jvmpi_forward:",
    ".cfi_startproc",
    ".set loadhook_place, 0",
    ".rept {count}",
    ".p2align 4",
    "movq 8(%rdi), %rdi",
    "movq (%rdi), %r11",
    "jmpq *(8 * loadhook_place)(%r11)",
    ".set loadhook_place, loadhook_place + 1",
    ".endr",
    ".cfi_endproc",
    count = const FUNCTIONS,
    options(att_syntax)
);

#[cfg(target_arch = "x86_64")]
fn functions() -> *const Functions {
    use std::sync::OnceLock;
    unsafe extern "C" {
        /// The first of the functions; the others follow at equal distances.
        #[link_name = "loadhook_jvmpi_forward"]
        fn forward();
    }
    static TABLE: OnceLock<Functions> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let first = (forward as *const ()).cast::<c_void>();
        Functions(std::array::from_fn(|place| {
            if place < RESERVED {
                std::ptr::null()
            } else {
                first.wrapping_byte_add(place * STEP)
            }
        }))
    });
    std::ptr::from_ref(table)
}

#[cfg(not(target_arch = "x86_64"))]
fn functions() -> *const Functions {
    std::ptr::null()
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// A function with more arguments than there are registers for.
    #[allow(
        clippy::too_many_arguments,
        reason = "for some of them there is no register"
    )]
    unsafe extern "C" fn sum(
        env: *mut c_void,
        a: i64,
        b: i64,
        c: i64,
        d: i64,
        e: i64,
        f: i64,
        x: f64,
    ) -> f64 {
        (env.addr() as i64 + a + b + c + d + e + f) as f64 + x
    }

    #[test]
    fn a_call_goes_to_the_same_place_of_the_carriers_table() {
        type Sum = unsafe extern "C" fn(*mut c_void, i64, i64, i64, i64, i64, i64, f64) -> f64;
        let mut table: Vec<*const c_void> = vec![null_mut(); FUNCTIONS];
        for place in [RESERVED, 29, FUNCTIONS - 1] {
            table[place] = sum as *const c_void;
        }
        let carrier = Box::new(table.as_ptr());
        let real: *mut c_void = std::ptr::from_ref(&*carrier).cast_mut().cast();
        let env = VirtualEnv::new();
        env.set_carrier(real);
        for place in [RESERVED, 29, FUNCTIONS - 1] {
            let own: *mut c_void = std::ptr::from_ref(&env).cast_mut().cast();
            // SAFETY: the table has functions of this type at these places.
            let answer = unsafe {
                let function: Sum = std::mem::transmute((*env.functions).0[place]);
                function(own, 1, 2, 3, 4, 5, 6, 0.5)
            };
            assert_eq!(answer, real.addr() as f64 + 21.5);
        }
    }
}
