//! What a program that strangers can reach gives up before the first of them is let in, so that a fault in it is worth
//! little to them.
//!
//! | part | what is given up | by what |
//! |---|---|---|
//! | user | the user and groups that it was started as, with `--run-as`; and all capabilities of who is not root | setgroups(2), setresgid(2), setresuid(2), capset(2) |
//! | no new privileges | what setuid and file capabilities would give | `PR_SET_NO_NEW_PRIVS` |
//! | Landlock | files outside the named places, TCP ports, signals to others, abstract sockets | landlock(7) |
//! | seccomp | system calls that the program does not make | seccomp(2) |
//!
//! They are entered together, once what they forbid has been done (sockets, directories and files are open) and while
//! the process has one thread: threads begun later have them from the one that began them. What the kernel lacks is left
//! out, and the line that [`Sandbox::enter`] gives says so; only a user that cannot be had is an error, for he was
//! asked for by name.
//!
//! **Left out**: Landlock for threads that are there already (Linux 7.0 can; seccomp and users hold for all threads);
//! name spaces and other roots, which who starts the program can give it; systems other than Linux; seccomp on
//! processors other than x86-64, AArch64 and RISC-V of 64 bits.

#![cfg(target_os = "linux")]

mod calls;
mod files;
mod user;

use core::fmt;
use core::str::FromStr;
use std::io;
use std::path::PathBuf;

pub use calls::Calls;
pub use files::Access;
pub use user::RunAs;

/// A part that can be left out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SandboxPart {
    /// `PR_SET_NO_NEW_PRIVS`. Landlock and seccomp need it, so that it can be left out with them only.
    NoNewPrivs,
    /// Landlock.
    Landlock,
    /// Seccomp.
    Seccomp,
}

impl SandboxPart {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::NoNewPrivs, Self::Landlock, Self::Seccomp];

    /// As options have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoNewPrivs => "no-new-privs",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
        }
    }
}

impl fmt::Display for SandboxPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SandboxPart {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|part| part.name() == text);
        found.ok_or_else(|| "a part of the sandbox is no-new-privs, landlock or seccomp".to_owned())
    }
}

/// What a program must still be able to do.
#[derive(Clone, Debug)]
pub struct Needs {
    /// The places of which it needs something; none: Landlock would be in the way, and for what reason.
    pub files: Result<Vec<(PathBuf, Access)>, &'static str>,
    /// TCP ports to which it may connect.
    pub connects: Vec<u16>,
    /// The system calls.
    pub calls: Calls,
    /// Capabilities are needed later too, as for the addresses of a device: who is not root keeps those that it was
    /// given.
    pub capabilities: bool,
}

/// Which parts of the sandbox are left out, and as whom the process runs in it.
#[derive(Clone, Debug)]
pub struct Sandbox {
    run_as: Option<RunAs>,
    without: Vec<SandboxPart>,
    /// Somebody has chosen, and is to know what stands.
    is_told: bool,
}

/// Why a sandbox that was asked for cannot be entered.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// What Landlock and seccomp need cannot be left out without them.
    #[error("no-new-privs can be left out only together with landlock and seccomp, which need it")]
    Needed,
    /// There is no such user or group, or it cannot be become.
    #[error("--run-as: {0}")]
    User(String),
    /// A place that the program needs cannot be had.
    #[error("{}: {why}", path.display())]
    Place {
        /// The place.
        path: PathBuf,
        /// What the system said.
        why: io::Error,
    },
    /// The kernel has the part, and refused it.
    #[error("{0}: {1}")]
    Refused(SandboxPart, String),
}

/// What came of one part.
enum PartOutcome {
    Stands(String),
    Lacks(String),
}

impl fmt::Display for PartOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stands(what) => f.write_str(what),
            Self::Lacks(why) => write!(f, "NOT {why}"),
        }
    }
}

impl Default for Sandbox {
    fn default() -> Self {
        Self::none()
    }
}

impl Sandbox {
    /// All but `without`; as `run_as` from then on, where that is given.
    ///
    /// # Errors
    /// [`SandboxError::Needed`].
    pub fn new(run_as: Option<RunAs>, mut without: Vec<SandboxPart>) -> Result<Self, SandboxError> {
        without.sort();
        without.dedup();
        if without.contains(&SandboxPart::NoNewPrivs) && without.len() < SandboxPart::ALL.len() {
            return Err(SandboxError::Needed);
        }
        Ok(Self { run_as, without, is_told: true })
    }

    /// None at all, for those who are called in a process of somebody else's.
    #[must_use]
    pub fn none() -> Self {
        Self { run_as: None, without: SandboxPart::ALL.to_vec(), is_told: false }
    }

    /// As whom the program goes on.
    #[must_use]
    pub const fn run_as(&self) -> Option<&RunAs> {
        self.run_as.as_ref()
    }

    /// Enters it, for the rest of the life of this process. Gives a line that says which stand, and which the kernel
    /// lacks; none for [`Sandbox::none`].
    ///
    /// To be called while there is one thread.
    ///
    /// # Errors
    /// [`SandboxError`]. Some may stand then: the program is to end.
    pub fn enter(&self, needs: &Needs) -> Result<Option<String>, SandboxError> {
        let has = |part: SandboxPart| !self.without.contains(&part);
        if self.run_as.is_none() && !SandboxPart::ALL.into_iter().any(has) {
            return Ok(self.is_told.then(|| "sandbox: NONE, as asked for".to_owned()));
        }
        let mut said = Vec::new();
        // Places are opened by who may still open them.
        let places = match &needs.files {
            Ok(places) if has(SandboxPart::Landlock) => Some(files::open(places)?),
            Ok(_) | Err(_) => None,
        };
        said.push(PartOutcome::Stands(user::become_user(self.run_as.as_ref(), needs.capabilities)?));
        if has(SandboxPart::NoNewPrivs) {
            said.push(match rustix::thread::set_no_new_privs(true) {
                Ok(()) => PartOutcome::Stands("no new privileges".to_owned()),
                Err(why) => PartOutcome::Lacks(format!("no new privileges: {why}")),
            });
        }
        if has(SandboxPart::Landlock) {
            said.push(match (&needs.files, places) {
                (Ok(named), Some(places)) => files::restrict(named, places, &needs.connects)?,
                (Err(why), _) => PartOutcome::Lacks(format!("Landlock, as {why}")),
                (Ok(_), None) => PartOutcome::Lacks("Landlock".to_owned()),
            });
        }
        if has(SandboxPart::Seccomp) {
            said.push(calls::restrict(needs.calls, needs.capabilities)?);
        }
        for part in &self.without {
            said.push(PartOutcome::Lacks(format!("{part}, as asked for")));
        }
        let said: Vec<String> = said.iter().map(ToString::to_string).collect();
        Ok(Some(format!("sandbox: {}", said.join("; "))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_all_walls_left_out_is_told_that_none_stands() {
        let needs = Needs { files: Ok(Vec::new()), connects: Vec::new(), calls: Calls::Lines, capabilities: false };
        let none = Sandbox::new(None, SandboxPart::ALL.to_vec()).unwrap();
        assert_eq!(none.enter(&needs).unwrap().as_deref(), Some("sandbox: NONE, as asked for"));
        assert_eq!(Sandbox::none().enter(&needs).unwrap(), None);
    }
}
