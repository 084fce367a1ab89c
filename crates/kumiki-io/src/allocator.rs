//! The allocator of the C library, as far as a limit of address space asks for it.

/// Has all threads take memory from one arena, from here on. glibc otherwise reserves 64 MiB of address space for each
/// of the first threads, which a limit of that (`ulimit -v`) counts although nobody uses it. Where the C library is
/// another one, nothing happens.
pub fn use_one_arena() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        #[expect(unsafe_code, reason = "there is no safe call for it")]
        // SAFETY: it takes two numbers, locks what it changes itself, and may be called at any time.
        let _ = unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }
}
