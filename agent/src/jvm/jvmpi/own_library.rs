//! The file of this library: its name, and the loading of it for the JVM's boot loader.

use std::ffi::{CStr, CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::super::jni::{Jni, JniError};
use super::super::jni_calls::Argument;

/// Makes the boot loader load this library, so that the JVM finds the native methods of the tracker's classes. For the
/// native methods of a class, the JVM searches only libraries that the class's loader has loaded. This library was
/// loaded as a JVMPI profiler, not by a class loader.
///
/// `Runtime.load0` is called, because `System.load` without a Java caller would print a warning.
pub(crate) fn load_for_boot_loader(jni: Jni<'_>) -> Result<(), JniError> {
    let path = path().ok_or(JniError::Refused)?;
    let loaded = jni.framed(|jni| {
        let runtimes = jni.find_class(c"java/lang/Runtime")?;
        let get = jni.method_key(runtimes, c"getRuntime", c"()Ljava/lang/Runtime;", true)?;
        let runtime = jni.call_static_object(runtimes, get)?;
        let caller = jni.find_class(c"java/lang/Object")?;
        let arguments = [caller, jni.new_string(&path)?].map(Argument::Object);
        let descriptor = c"(Ljava/lang/Class;Ljava/lang/String;)V";
        jni.call_void_method(runtime, c"load0", descriptor, &arguments)
    });
    loaded.unwrap_or(Err(JniError::Refused))
}

/// Returns whether the file of this library has the name under which a JVM looks for HPROF.
pub(crate) fn has_name_of_hprof() -> bool {
    file().is_some_and(|file| file.file_name() == Some("libhprof.so".as_ref()))
}

/// Returns the absolute path of this library.
fn path() -> Option<CString> {
    let path = file()?.canonicalize().ok()?;
    CString::new(path.as_os_str().as_bytes()).ok()
}

/// Returns the path by which this library was loaded.
fn file() -> Option<&'static Path> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `dladdr` takes any address, and writes the structure. All-zero bytes are a valid value of the structure.
    let (found, info) = unsafe {
        let found = libc::dladdr(file as *const c_void, info.as_mut_ptr());
        (found, info.assume_init())
    };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the name ends in a zero byte, and lives as long as the library.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(Path::new(std::ffi::OsStr::from_bytes(name.to_bytes())))
}
