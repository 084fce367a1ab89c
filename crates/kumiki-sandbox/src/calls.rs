//! Seccomp: which system calls can be made.
//!
//! A list of what is allowed, by what it is for; all else is answered as if the kernel did not have it (ENOSYS). *Why
//! not EPERM, or the end of the program:* a C library that tries a newer call goes on with the older one where that is
//! missing, and so the list need not grow with each version of each library: `clone3`, whose flags no filter can see,
//! becomes `clone`, whose flags it can. The list was found by strace under the tests of these programs, and completed
//! by what other versions of the same libraries call for the same purpose; on x86-64 that has two names for many of
//! them.
//!
//! A program that starts other programs gives them its sandbox, and nobody knows what these do. There is a list of what
//! is forbidden instead ([`Calls::Commands`], EPERM): what no program of an ordinary user at a terminal needs, and what
//! attacks on kernels begin with.

use std::collections::BTreeMap;

use libc::c_long;
// The kernel's numbers, of one type whatever the C library.
use linux_raw_sys::ioctl;
use linux_raw_sys::prctl::{PR_GET_AUXV, PR_SET_NAME, PR_SET_TIMERSLACK, PR_SET_VMA};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

use super::{PartOutcome, SandboxError, SandboxPart};

/// Which lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Calls {
    /// Connections are accepted, and files of open directories served.
    Files,
    /// Connections are accepted and made; lines and devices are open or opened, and captures written.
    Lines,
    /// The same, and programs are started: what is forbidden is listed.
    Commands,
}

/// Memory that is no code, threads, and what a C library does by itself. Some have conditions, which [`conditional`]
/// has.
const ALWAYS: &[c_long] = &[
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_rseq,
    libc::SYS_membarrier,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_geteuid,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_getrusage,
    libc::SYS_getrandom,
    // Descriptors, whatever they are of.
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_lseek,
    libc::SYS_fcntl,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_ppoll,
    libc::SYS_pipe2,
    libc::SYS_eventfd2,
    libc::SYS_dup,
    libc::SYS_dup3,
    // Connections that are there.
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_shutdown,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    // Files below what Landlock leaves: captures at least.
    libc::SYS_openat,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_ftruncate,
    libc::SYS_fchmod,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
];

/// Names that not all processors have, for what is there under another name anyway.
#[cfg(target_arch = "x86_64")]
const OLD: &[c_long] = &[
    libc::SYS_renameat,
    libc::SYS_poll,
    libc::SYS_open,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_unlink,
    libc::SYS_rename,
    libc::SYS_pipe,
    libc::SYS_dup2,
    libc::SYS_time,
    libc::SYS_epoll_wait,
];
#[cfg(target_arch = "aarch64")]
const OLD: &[c_long] = &[libc::SYS_renameat];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const OLD: &[c_long] = &[];

/// A store of files.
const FILES: &[c_long] = &[
    libc::SYS_openat2,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_getdents64,
    libc::SYS_mkdirat,
    libc::SYS_flock,
    libc::SYS_fchown,
];

/// Lines that are opened again, and connections that are made.
const LINES: &[c_long] = &[
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_recvmmsg,
    libc::SYS_sendmmsg,
    libc::SYS_eventfd2,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_fchmodat,
    libc::SYS_readlinkat,
    libc::SYS_setpriority,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_getparam,
    libc::SYS_sched_getscheduler,
];

/// What no command of a caller needs: other processes' memory, the kernel itself, mounts and name spaces, other
/// machines' time.
const FORBIDDEN: &[c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_pivot_root,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_syslog,
];

/// The rules of one call: any of them will do.
type Rules = Result<Vec<SeccompRule>, seccompiler::BackendError>;

/// The argument of this number is one of these.
fn one_of(argument: u8, values: &[u32]) -> Rules {
    let rule = |value: &u32| {
        let is = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, u64::from(*value))?;
        SeccompRule::new(vec![is])
    };
    values.iter().map(rule).collect()
}

/// Of these bits of an argument, just those of `set` are set.
fn bits(argument: u8, mask: u64, set: u64) -> Rules {
    let op = SeccompCmpOp::MaskedEq(mask);
    let is = SeccompCondition::new(argument, SeccompCmpArgLen::Qword, op, set)?;
    Ok(vec![SeccompRule::new(vec![is])?])
}

/// What is allowed with some arguments only.
fn conditional(calls: Calls, configures: bool) -> Result<Vec<(c_long, Vec<SeccompRule>)>, seccompiler::BackendError> {
    let octets = |number: i32| u64::from(number.unsigned_abs());
    // No memory can be run as code that was not so before.
    let execute = octets(libc::PROT_EXEC);
    // Threads, and no processes.
    let thread = octets(libc::CLONE_THREAD | libc::CLONE_VM);
    let own = std::process::id();
    let mut requests = vec![ioctl::FIONBIO, ioctl::FIONREAD, ioctl::FIOCLEX, ioctl::TCGETS];
    if calls == Calls::Lines {
        // What a terminal as a line is asked: settings, who is in the foreground, how much is queued, and whether there
        // is a carrier; never TIOCSTI.
        requests.extend([
            ioctl::TCSETS,
            ioctl::TCSETSW,
            ioctl::TCSETSF,
            ioctl::TCGETS2,
            ioctl::TCSETS2,
            ioctl::TCSETSW2,
            ioctl::TCSETSF2,
            ioctl::TCFLSH,
            ioctl::TIOCGPGRP,
            ioctl::TIOCGWINSZ,
            ioctl::TIOCOUTQ,
            ioctl::TIOCMGET,
            ioctl::TIOCEXCL,
            ioctl::TIOCNXCL,
            ioctl::TIOCGPTN,
        ]);
    }
    if configures {
        // The kernel's end of a TUN device.
        requests.extend([
            ioctl::SIOCGIFINDEX,
            ioctl::SIOCGIFFLAGS,
            ioctl::SIOCSIFFLAGS,
            ioctl::SIOCSIFADDR,
            ioctl::SIOCSIFDSTADDR,
            ioctl::SIOCSIFNETMASK,
            ioctl::SIOCSIFMTU,
        ]);
    }
    let mut rules = vec![
        (libc::SYS_mmap, bits(2, execute, 0)?),
        (libc::SYS_mprotect, bits(2, execute, 0)?),
        (libc::SYS_clone, bits(0, thread, thread)?),
        // How abort(3) ends a program.
        (libc::SYS_tgkill, one_of(0, &[own])?),
        (libc::SYS_ioctl, one_of(1, &requests)?),
        // PR_GET_AUXV: what the kernel told this program at its start, since Linux 6.4.
        (libc::SYS_prctl, one_of(0, &[PR_SET_NAME, PR_SET_TIMERSLACK, PR_SET_VMA, PR_GET_AUXV])?),
    ];
    if calls == Calls::Lines {
        let families = [libc::AF_INET, libc::AF_INET6, libc::AF_UNIX].map(i32::unsigned_abs);
        rules.push((libc::SYS_socket, one_of(0, &families)?));
    }
    Ok(rules)
}

fn filter(calls: Calls, configures: bool) -> Result<(SeccompFilter, String), seccompiler::BackendError> {
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    let errno = |code: i32| SeccompAction::Errno(code.unsigned_abs());
    let (otherwise, listed, said) = match calls {
        Calls::Commands => {
            rules.extend(FORBIDDEN.iter().map(|call| (*call, Vec::new())));
            let said = format!("seccomp: {} system calls forbidden", rules.len());
            (SeccompAction::Allow, errno(libc::EPERM), said)
        }
        Calls::Files | Calls::Lines => {
            let more = if calls == Calls::Files { FILES } else { LINES };
            let all = ALWAYS.iter().chain(OLD).chain(more);
            rules.extend(all.map(|call| (*call, Vec::new())));
            rules.extend(conditional(calls, configures)?);
            let said = format!("seccomp: {} system calls left", rules.len());
            (errno(libc::ENOSYS), SeccompAction::Allow, said)
        }
    };
    Ok((SeccompFilter::new(rules, otherwise, listed, arch)?, said))
}

/// Begins it for all threads. Who `configures` sets addresses of a device.
pub(super) fn restrict(calls: Calls, configures: bool) -> Result<PartOutcome, SandboxError> {
    let failed = |why: &dyn core::fmt::Display| SandboxError::Refused(SandboxPart::Seccomp, why.to_string());
    let (filter, said) = match filter(calls, configures) {
        Ok(made) => made,
        Err(seccompiler::BackendError::InvalidTargetArch(arch)) => {
            return Ok(PartOutcome::Lacks(format!("seccomp: no list for {arch}")));
        }
        Err(why) => return Err(failed(&why)),
    };
    let program: BpfProgram = filter.try_into().map_err(|why| failed(&why))?;
    match seccompiler::apply_filter_all_threads(&program) {
        Ok(()) => Ok(PartOutcome::Stands(said)),
        Err(seccompiler::Error::Seccomp(why)) if matches!(why.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL)) => {
            Ok(PartOutcome::Lacks("seccomp: this kernel has no filters".to_owned()))
        }
        Err(why) => Err(failed(&why)),
    }
}
