//! Landlock: which files, ports and processes can be reached.

use std::path::PathBuf;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, LandlockStatus, NetPort, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};

use super::{PartOutcome, SandboxError, SandboxPart};

/// The newest rights that are asked for: all that a kernel has of them are given up. What newer ones forbid was not tried
/// with these programs.
const ABI_OF_FILES: ABI = ABI::V5;
const ABI_OF_PORTS: ABI = ABI::V4;
const ABI_OF_SCOPES: ABI = ABI::V6;

/// What is needed of a place, and of all below it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// A directory whose files are read and listed.
    Read,
    /// A directory in which files and directories are read, written, made, renamed and removed.
    Write,
    /// A directory in which files are made and written, such as captures.
    Make,
    /// A directory from which a name is removed at the end, such as that of a socket.
    Remove,
    /// A terminal or another device, which is opened again.
    Device,
}

impl Access {
    fn rights(self) -> BitFlags<AccessFs> {
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        match self {
            Self::Read => read,
            Self::Write => {
                read | AccessFs::WriteFile
                    | AccessFs::Truncate
                    | AccessFs::MakeReg
                    | AccessFs::MakeDir
                    | AccessFs::RemoveFile
                    | AccessFs::RemoveDir
                    | AccessFs::Refer
            }
            Self::Make => AccessFs::WriteFile | AccessFs::Truncate | AccessFs::MakeReg,
            Self::Remove => AccessFs::RemoveFile.into(),
            Self::Device => AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev,
        }
    }
}

/// Opens the places.
pub(super) fn open(places: &[(PathBuf, Access)]) -> Result<Vec<(PathFd, Access)>, SandboxError> {
    let opened = places.iter().map(|(path, access)| {
        let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC;
        // Only for what the system says of it.
        rustix::fs::open(path, flags, rustix::fs::Mode::empty())
            .map_err(std::io::Error::from)
            .and_then(|_| PathFd::new(path).map_err(std::io::Error::other))
            .map(|opened| (opened, *access))
            .map_err(|why| SandboxError::Place { path: path.clone(), why })
    });
    opened.collect()
}

/// Leaves nothing but these places, and connections to these ports.
pub(super) fn restrict(
    named: &[(PathBuf, Access)],
    places: Vec<(PathFd, Access)>,
    connects: &[u16],
) -> Result<PartOutcome, SandboxError> {
    let entered = || -> Result<_, RulesetError> {
        let mut ruleset = Ruleset::default()
            .handle_access(AccessFs::from_all(ABI_OF_FILES))?
            .handle_access(AccessNet::from_all(ABI_OF_PORTS))?
            .scope(Scope::from_all(ABI_OF_SCOPES))?
            .create()?;
        for (place, access) in places {
            ruleset = ruleset.add_rule(PathBeneath::new(place, access.rights()))?;
        }
        for port in connects {
            ruleset = ruleset.add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
        }
        ruleset.restrict_self()
    };
    let status = entered().map_err(|why| SandboxError::Refused(SandboxPart::Landlock, why.to_string()))?;
    let abi = match status.landlock {
        LandlockStatus::NotEnabled => {
            return Ok(PartOutcome::Lacks("Landlock: it is off in this kernel (lsm=landlock turns it on)".to_owned()));
        }
        LandlockStatus::NotImplemented => {
            return Ok(PartOutcome::Lacks(
                "Landlock: this kernel's is missing or too old; Linux 5.19 or newer has what is needed".to_owned(),
            ));
        }
        LandlockStatus::Available { effective_abi, .. } => effective_abi,
    };
    let mut paths: Vec<String> = named.iter().map(|(path, _)| path.display().to_string()).collect();
    paths.dedup();
    let files = if paths.is_empty() { "no file".to_owned() } else { format!("files of {} alone", paths.join(", ")) };
    let mut lacks = Vec::new();
    for (what, since) in [
        ("truncation", ABI::V3),
        ("TCP ports", ABI::V4),
        ("requests to devices", ABI::V5),
        ("signals and abstract sockets", ABI::V6),
    ] {
        if abi < since {
            lacks.push(what);
        }
    }
    Ok(match status.ruleset {
        RulesetStatus::NotEnforced => {
            PartOutcome::Lacks(format!("Landlock: its ABI {abi} would forbid to rename from one directory to another"))
        }
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced if lacks.is_empty() => {
            PartOutcome::Stands(format!("Landlock (ABI {abi}): {files}"))
        }
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => {
            PartOutcome::Stands(format!("Landlock (ABI {abi}, which knows nothing of {}): {files}", lacks.join(", ")))
        }
    })
}
