//! Users and groups.

use core::str::FromStr;
use std::ffi::CString;
use std::io;

use rustix::thread::{CapabilitySet, CapabilitySets};

use super::SandboxError;

/// The longest entry of a user or group that is read, in octets. Groups have as many members as they like.
const LONGEST: usize = 1 << 20;

/// The most groups of a user, as Linux has it (`NGROUPS_MAX`).
const MOST_GROUPS: usize = 65_536;

/// Who a program is to be: `NAME` with the groups of that user, or `NAME:GROUP` with this group alone. Numbers are
/// taken too, of a user with a group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunAs {
    text: String,
    user: u32,
    group: u32,
    groups: Vec<u32>,
}

impl FromStr for RunAs {
    type Err = String;

    /// Looks the names up.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, group) = match text.split_once(':') {
            Some((name, group)) => (name, Some(group)),
            None => (text, None),
        };
        let known = user_of(name)?;
        let (user, own) = match (known, name.parse::<u32>()) {
            (Some((user, own)), _) => (user, Some(own)),
            (None, Ok(user)) => (user, None),
            (None, Err(_)) => return Err(format!("there is no user {name:?}")),
        };
        if user == 0 {
            return Err("root gives nothing up; expected another user".to_owned());
        }
        let (group, groups) = match (group, own) {
            (Some(group), _) => {
                let ((Some(found), _) | (None, Ok(found))) = (group_of(group)?, group.parse::<u32>()) else {
                    return Err(format!("there is no group {group:?}"));
                };
                (found, vec![found])
            }
            (None, Some(own)) => (own, groups_of(name, own)?),
            (None, None) => {
                return Err(format!("of the user {name} no group is known; expected {name}:GROUP"));
            }
        };
        Ok(Self { text: text.to_owned(), user, group, groups })
    }
}

/// A name as the C library takes it.
fn c_text(name: &str) -> Result<CString, String> {
    CString::new(name).map_err(|_| format!("{name:?} is no name"))
}

/// Calls a look-up of the C library with more and more room, until it has enough; whether something was found.
fn with_room(mut look: impl FnMut(&mut [libc::c_char]) -> (i32, bool)) -> Result<bool, String> {
    let mut room = vec![0; 4096];
    loop {
        match look(&mut room) {
            (0, found) => return Ok(found),
            (libc::ERANGE, _) if room.len() < LONGEST => room.resize(room.len() * 2, 0),
            // getpwnam(3) has these for "not found" too.
            (libc::ENOENT | libc::ESRCH | libc::EBADF | libc::EPERM, _) => return Ok(false),
            (why, _) => return Err(io::Error::from_raw_os_error(why).to_string()),
        }
    }
}

/// Number and group of a user.
#[expect(unsafe_code, reason = "calls of the C library that have no other home")]
fn user_of(name: &str) -> Result<Option<(u32, u32)>, String> {
    let name = c_text(name)?;
    let mut known = None;
    with_room(|room| {
        let mut entry = core::mem::MaybeUninit::<libc::passwd>::uninit();
        let mut found = core::ptr::null_mut();
        // SAFETY: all pointers are to memory of ours that lives through the call, and the length is that of `room`.
        let done = unsafe {
            libc::getpwnam_r(name.as_ptr(), entry.as_mut_ptr(), room.as_mut_ptr(), room.len(), &raw mut found)
        };
        if done == 0 && !found.is_null() {
            // SAFETY: the call has set it to `entry`, which it has filled.
            let it = unsafe { &*found };
            known = Some((it.pw_uid, it.pw_gid));
        }
        (done, known.is_some())
    })?;
    Ok(known)
}

/// The number of a group.
#[expect(unsafe_code, reason = "calls of the C library that have no other home")]
fn group_of(name: &str) -> Result<Option<u32>, String> {
    let name = c_text(name)?;
    let mut known = None;
    with_room(|room| {
        let mut entry = core::mem::MaybeUninit::<libc::group>::uninit();
        let mut found = core::ptr::null_mut();
        // SAFETY: all pointers are to memory of ours that lives through the call, and the length is that of `room`.
        let done = unsafe {
            libc::getgrnam_r(name.as_ptr(), entry.as_mut_ptr(), room.as_mut_ptr(), room.len(), &raw mut found)
        };
        if done == 0 && !found.is_null() {
            // SAFETY: the call has set it to `entry`, which it has filled.
            known = Some(unsafe { &*found }.gr_gid);
        }
        (done, known.is_some())
    })?;
    Ok(known)
}

/// All groups of a user whose own is `group`.
#[expect(unsafe_code, reason = "calls of the C library that have no other home")]
fn groups_of(name: &str, group: u32) -> Result<Vec<u32>, String> {
    let name = c_text(name)?;
    let mut groups = vec![0_u32; 64];
    loop {
        let mut count = i32::try_from(groups.len()).unwrap_or(i32::MAX);
        // SAFETY: the name ends with NUL, and `count` is how many numbers `groups` has room for.
        let done = unsafe { libc::getgrouplist(name.as_ptr(), group, groups.as_mut_ptr(), &raw mut count) };
        let count = usize::try_from(count).unwrap_or(0);
        if done >= 0 {
            groups.truncate(count);
            return Ok(groups);
        }
        if groups.len() >= MOST_GROUPS {
            return Err("it is in more groups than a process can be".to_owned());
        }
        groups.resize(count.max(groups.len() * 2).min(MOST_GROUPS), 0);
    }
}

/// Becomes this user, for ever and in all threads, or stays who we are; without capabilities where that is not root,
/// unless it `keeps` them. Says who it is.
#[expect(unsafe_code, reason = "calls of the C library that have no other home")]
pub(super) fn become_user(whom: Option<&RunAs>, keeps: bool) -> Result<String, SandboxError> {
    if let Some(whom) = whom {
        let failed = |what: &str| {
            let why = io::Error::last_os_error();
            SandboxError::User(format!("cannot become {}: {what}: {why}; only root can", whom.text))
        };
        // Groups first: without the user's rights they could not be given up any more.
        // SAFETY: the pointer and the length are those of `groups`.
        if unsafe { libc::setgroups(whom.groups.len(), whom.groups.as_ptr()) } != 0 {
            return Err(failed("setgroups"));
        }
        let (user, group) = (whom.user, whom.group);
        // The C library's calls, and not the kernel's, hold for all threads.
        // SAFETY: numbers only.
        if unsafe { libc::setresgid(group, group, group) } != 0 {
            return Err(failed("setresgid"));
        }
        // SAFETY: numbers only.
        if unsafe { libc::setresuid(user, user, user) } != 0 {
            return Err(failed("setresuid"));
        }
    }
    let own = rustix::process::geteuid();
    if own.is_root() {
        return Ok("user root, as no --run-as was given".to_owned());
    }
    if keeps && whom.is_none() {
        return Ok(format!("user {}, with its capabilities", own.as_raw()));
    }
    // What was given to bind a port below 1024, or to configure a device, has done its work.
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, none)
        .map_err(|why| SandboxError::User(format!("capabilities cannot be given up: {why}")))?;
    if let Some(whom) = whom {
        verify(whom).map_err(|why| SandboxError::User(format!("{}: {why}", whom.text)))?;
        return Ok(format!("user {}", whom.text));
    }
    Ok(format!("user {}", own.as_raw()))
}

/// Sees that nothing of what we were is left.
#[expect(unsafe_code, reason = "calls of the C library that have no other home")]
fn verify(whom: &RunAs) -> Result<(), String> {
    let users = [rustix::process::getuid(), rustix::process::geteuid()].map(|it| it.as_raw());
    let groups = [rustix::process::getgid(), rustix::process::getegid()].map(|it| it.as_raw());
    if users != [whom.user; 2] || groups != [whom.group; 2] {
        return Err(format!("users are {users:?} and groups {groups:?} instead"));
    }
    let sorted = |mut groups: Vec<u32>| {
        groups.sort_unstable();
        groups.dedup();
        groups
    };
    let others = rustix::process::getgroups().map_err(|why| why.to_string())?;
    let others = sorted(others.iter().map(|group| group.as_raw()).collect());
    if others != sorted(whom.groups.clone()) {
        return Err(format!("other groups are {others:?} instead"));
    }
    // SAFETY: numbers only.
    if unsafe { libc::setresuid(0, 0, 0) } == 0 {
        return Err("it could become root again".to_owned());
    }
    // Each thread has users of its own for the kernel, and saved ones that only /proc shows. Where /proc is not there
    // nothing more can be seen.
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else {
        return Ok(());
    };
    for thread in threads.flatten() {
        let Ok(status) = std::fs::read_to_string(thread.path().join("status")) else {
            continue;
        };
        let is = |name: &str, number: u32| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let mut numbers = line.unwrap_or_default().split_whitespace();
            numbers.all(|text| text.parse() == Ok(number))
        };
        let caps = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
        let has_none = caps.is_none_or(|caps| caps.trim().trim_start_matches('0').is_empty());
        if !is("Uid:", whom.user) || !is("Gid:", whom.group) || !has_none {
            return Err("a thread has kept what it was".to_owned());
        }
    }
    Ok(())
}
