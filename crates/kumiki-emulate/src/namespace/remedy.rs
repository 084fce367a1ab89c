//! What to type where there is no namespace or no device: what stands in the way is told by what the kernel says and by
//! a few files.

use std::io;

use rustix::io::Errno;

/// What failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Making the namespaces.
    Namespaces,
    /// Saying who the user is in them.
    Users,
    /// Opening `/dev/net/tun`.
    Open,
    /// Making the device there, or setting its address, MTU or route.
    Configure,
    /// Putting another file in the place of `/etc/resolv.conf`.
    Resolver,
    /// The same of `/etc/hosts`.
    Hosts,
}

/// What the system allows, as far as it tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Facts {
    /// `kernel.apparmor_restrict_unprivileged_userns` is 1: Ubuntu from 23.10 on.
    pub(super) apparmor: bool,
    /// `kernel.unprivileged_userns_clone` is 0: hardened kernels.
    pub(super) no_clone: bool,
    /// `user.max_user_namespaces` is 0: hardened hosts.
    pub(super) no_user_namespaces: bool,
    /// A filter of system calls is there, as containers have one.
    pub(super) seccomp: bool,
}

impl Facts {
    pub(super) fn found() -> Self {
        let is = |path: &str, value: &str| std::fs::read_to_string(path).is_ok_and(|text| text.trim() == value);
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let seccomp = status.lines().find_map(|line| line.strip_prefix("Seccomp:"));
        Self {
            apparmor: is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
            no_clone: is("/proc/sys/kernel/unprivileged_userns_clone", "0"),
            no_user_namespaces: is("/proc/sys/user/max_user_namespaces", "0"),
            seccomp: seccomp.is_some_and(|it| it.trim() == "2"),
        }
    }
}

/// For Docker and its like.
const CONTAINER: &str = "In a container: docker run --device /dev/net/tun --cap-add SYS_ADMIN --cap-add NET_ADMIN --security-opt apparmor=unconfined";

const APPARMOR: &str = "AppArmor keeps the rights of a user namespace from programs without a profile: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0, or give this program a profile with `userns,`";

/// What would help against `why` at `step`; empty where that is not known.
pub(super) fn remedy(step: Step, why: &io::Error, facts: Facts) -> String {
    let refused = matches!(Errno::from_io_error(why), Some(Errno::PERM | Errno::ACCESS));
    match (step, Errno::from_io_error(why)) {
        (Step::Open, Some(Errno::NOENT | Errno::NODEV | Errno::NXIO)) => {
            format!("Load the driver: sudo modprobe tun. {CONTAINER}")
        }
        (Step::Open, _) if refused => "Let users open it, which gives them no rights outside of their own namespaces: sudo chmod 0666 /dev/net/tun".to_owned(),
        (Step::Namespaces, Some(Errno::NOSPC)) => limit(),
        (Step::Namespaces, _) if facts.no_user_namespaces => limit(),
        (Step::Namespaces, Some(Errno::INVAL)) => "This kernel has no namespaces for users or networks (CONFIG_USER_NS, CONFIG_NET_NS)".to_owned(),
        (Step::Namespaces, _) if refused && facts.no_clone => {
            "Let users make namespaces: sudo sysctl kernel.unprivileged_userns_clone=1".to_owned()
        }
        (Step::Resolver, _) if refused => format!("Leave the file as it is with --keep-resolver. {}", if facts.apparmor { APPARMOR } else { CONTAINER }),
        (Step::Hosts, _) if refused => format!("Leave the file as it is with --keep-hosts. {}", if facts.apparmor { APPARMOR } else { CONTAINER }),
        (Step::Namespaces | Step::Users | Step::Configure, _) if refused && facts.apparmor => APPARMOR.to_owned(),
        (Step::Namespaces | Step::Users | Step::Configure, _) if refused && facts.seccomp => CONTAINER.to_owned(),
        (Step::Namespaces, _) if refused => format!("A security module or the container forbids it. {CONTAINER}"),
        _ => String::new(),
    }
}

fn limit() -> String {
    "No more user namespaces are allowed: sudo sysctl user.max_user_namespaces=10000".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_obstacle_has_a_line_to_type() {
        let none = Facts::default();
        let at = |step, errno: Errno, facts| remedy(step, &errno.into(), facts);
        let apparmor = Facts { apparmor: true, ..none };
        for (said, part) in [
            (at(Step::Configure, Errno::PERM, apparmor), "kernel.apparmor_restrict_unprivileged_userns=0"),
            (at(Step::Users, Errno::PERM, apparmor), "kernel.apparmor_restrict_unprivileged_userns=0"),
            (at(Step::Namespaces, Errno::PERM, Facts { no_clone: true, ..none }), "unprivileged_userns_clone=1"),
            (at(Step::Namespaces, Errno::NOSPC, none), "user.max_user_namespaces=10000"),
            (at(Step::Namespaces, Errno::PERM, Facts { no_user_namespaces: true, ..none }), "max_user_namespaces"),
            (at(Step::Namespaces, Errno::PERM, Facts { seccomp: true, ..none }), "--device /dev/net/tun"),
            (at(Step::Namespaces, Errno::PERM, none), "--cap-add"),
            (at(Step::Open, Errno::ACCESS, none), "chmod 0666 /dev/net/tun"),
            (at(Step::Open, Errno::NOENT, none), "modprobe tun"),
            (at(Step::Resolver, Errno::ACCESS, none), "--keep-resolver"),
        ] {
            assert!(said.contains(part), "{said}");
        }
        assert_eq!(at(Step::Configure, Errno::IO, none), "");
    }
}
