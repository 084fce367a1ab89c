//! Each part is run against: by a process that has entered it, and by one that has not.
//!
//! A part holds for the rest of a process's life, so each attempt is a process of its own: this program once more, told
//! which parts to leave out and what to try. It has a main of its own, as Landlock holds for the thread that enters it
//! and those begun later. What needs root, or a kernel that has the part, is left out where that is not so, with a
//! word.
#![expect(unsafe_code, reason = "what is tried are system calls that no safe function makes")]
#![cfg_attr(not(target_os = "linux"), expect(unused, reason = "sandboxes are Linux's"))]

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    linux::main()
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::io::{self, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;
    use std::process::{Command, ExitCode};

    use rustix::fs::{AtFlags, Mode, mkdirat, renameat, unlinkat};

    use kumiki_sandbox::{Access, Calls, Needs, RunAs, Sandbox, SandboxPart};

    /// What is tried: a name, and what does it.
    type Try = (&'static str, fn(&Path) -> io::Result<()>);

    /// All that can be tried, with a directory that is served and has the file `inside`; beside it is `outside`.
    const TRIES: &[Try] = &[
        ("served", served),
        ("passwd", |_| fs::read("/etc/passwd").map(drop)),
        ("outside", |root| fs::write(beside(root), "x")),
        ("bind", |_| TcpListener::bind("127.0.0.1:0").map(drop)),
        ("connect", connect),
        ("signal", |_| signal()),
        ("execve", |_| Command::new("/bin/true").status().map(drop)),
        ("ptrace", |_| call(|| ptrace(libc::PTRACE_TRACEME))),
        ("fork", |_| fork()),
        ("socket", |_| call(|| raw_socket(libc::AF_INET))),
        ("packet", |_| call(|| raw_socket(libc::AF_NETLINK))),
        ("code", |_| code()),
        ("ioctl", |_| sti()),
        ("setuid", setuid),
        ("root", of_root),
        // By a thread that was there before the sandbox.
        ("thread", of_root),
    ];

    fn beside(root: &Path) -> std::path::PathBuf {
        root.with_file_name("outside")
    }

    fn of_root(root: &Path) -> io::Result<()> {
        fs::read(root.with_file_name("of_root")).map(drop)
    }

    /// Turns what a system call gives into a result.
    fn call(act: impl FnOnce() -> i64) -> io::Result<()> {
        if act() < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    fn ptrace(request: u32) -> i64 {
        // SAFETY: this request looks at no other argument.
        unsafe { libc::ptrace(request, 0, 0, 0) }
    }

    fn raw_socket(family: i32) -> i64 {
        // SAFETY: numbers only. The descriptor goes with the process.
        i64::from(unsafe { libc::socket(family, libc::SOCK_DGRAM, 0) })
    }

    /// What a program that serves files does, with a thread that begins late.
    fn served(root: &Path) -> io::Result<()> {
        let root = root.to_owned();
        let thread = std::thread::Builder::new().name("late".to_owned());
        let thread = thread.spawn(move || {
            fs::read(root.join("inside"))?;
            let mut file = fs::File::create(root.join("new"))?;
            file.write_all(&vec![1; 3 << 20])?;
            file.sync_all()?;
            let root_of = fs::File::open(&root)?;
            mkdirat(&root_of, "d", Mode::from_raw_mode(0o700))?;
            renameat(&root_of, "new", &root_of, "d/renamed")?;
            unlinkat(&root_of, "d/renamed", AtFlags::empty())?;
            unlinkat(&root_of, "d", AtFlags::REMOVEDIR)?;
            fs::read_dir(&root)?.count();
            // As for secrets of connections.
            rustix::rand::getrandom(&mut [0; 16], rustix::rand::GetRandomFlags::empty())?;
            Ok(())
        })?;
        thread.join().map_err(|_| io::Error::other("a panic"))?
    }

    /// To a listener of the process that runs this one.
    fn connect(_: &Path) -> io::Result<()> {
        let port = std::env::var("PORT").unwrap_or_default();
        let port = port.parse().map_err(io::Error::other)?;
        TcpStream::connect(("127.0.0.1", port)).map(drop)
    }

    /// Whether the process that runs this one could be sent a signal.
    fn signal() -> io::Result<()> {
        // SAFETY: numbers only; 0 is no signal.
        call(|| i64::from(unsafe { libc::kill(libc::getppid(), 0) }))
    }

    fn fork() -> io::Result<()> {
        // SAFETY: the child does nothing but end.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: it does not return.
            unsafe { libc::_exit(0) };
        }
        call(|| i64::from(child))
    }

    /// Memory that is made to be code.
    fn code() -> io::Result<()> {
        let rights = libc::PROT_READ | libc::PROT_EXEC;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a mapping wherever there is room, that nobody uses.
        let at = unsafe { libc::mmap(core::ptr::null_mut(), 4096, rights, kind, -1, 0) };
        call(|| if at == libc::MAP_FAILED { -1 } else { 0 })
    }

    /// Types into a terminal, as if its user had.
    fn sti() -> io::Result<()> {
        // SAFETY: there is no such descriptor, so that nothing is read.
        let done = unsafe { libc::ioctl(-1, libc::TIOCSTI, c"x".as_ptr()) };
        match call(|| i64::from(done)) {
            // That it was looked for at all is what is asked.
            Err(why) if why.raw_os_error() == Some(libc::EBADF) => Ok(()),
            done => done,
        }
    }

    /// Whether a setuid program makes us root.
    fn setuid(root: &Path) -> io::Result<()> {
        let said = Command::new(root.with_file_name("setuid_id")).arg("-u").output()?;
        if said.stdout == b"0\n" {
            return Ok(());
        }
        Err(io::Error::from_raw_os_error(libc::EPERM))
    }

    /// Which sandbox stand, what is then tried, and how it is answered; without them it is done. What is named `root`
    /// needs root to be shown.
    struct Case {
        sandbox: &'static [SandboxPart],
        run_as: Option<&'static str>,
        tries: &'static str,
        answer: i32,
    }

    const fn case(sandbox: &'static [SandboxPart], tries: &'static str, answer: i32) -> Case {
        Case { sandbox, run_as: None, tries, answer }
    }

    const LANDLOCK: &[SandboxPart] = &[SandboxPart::NoNewPrivs, SandboxPart::Landlock];
    const SECCOMP: &[SandboxPart] = &[SandboxPart::NoNewPrivs, SandboxPart::Seccomp];
    const NOBODY: Option<&str> = Some("65534:65534");

    const CASES: &[Case] = &[
        case(LANDLOCK, "passwd", libc::EACCES),
        case(LANDLOCK, "outside", libc::EACCES),
        case(LANDLOCK, "bind", libc::EACCES),
        case(LANDLOCK, "connect", libc::EACCES),
        case(LANDLOCK, "signal", libc::EPERM),
        case(SECCOMP, "execve", libc::ENOSYS),
        case(SECCOMP, "ptrace", libc::ENOSYS),
        case(SECCOMP, "fork", libc::ENOSYS),
        case(SECCOMP, "socket", libc::ENOSYS),
        case(SECCOMP, "packet", libc::ENOSYS),
        case(SECCOMP, "code", libc::ENOSYS),
        case(SECCOMP, "ioctl", libc::ENOSYS),
    ];

    /// The same for what only root can show.
    const CASES_OF_ROOT: &[Case] = &[
        Case { sandbox: &[SandboxPart::NoNewPrivs], run_as: NOBODY, tries: "setuid", answer: libc::EPERM },
        Case { sandbox: &[], run_as: NOBODY, tries: "root", answer: libc::EACCES },
        Case { sandbox: &[], run_as: NOBODY, tries: "thread", answer: libc::EACCES },
    ];

    const INSIDE: &str = "--inside";
    /// The status of one that could not enter its sandbox.
    const NO_SANDBOX: u8 = 200;
    /// How a child says that a part was not there to be entered.
    const LACKS: &str = "NOT ";

    /// One attempt, in a process of its own: `--inside ROOT PARTS USER WHAT`. Its status is what the system said, 0
    /// where it was done.
    fn inside(arguments: &[String]) -> ExitCode {
        let [root, sandbox, user, what] = arguments else {
            return ExitCode::from(NO_SANDBOX);
        };
        let root = Path::new(root);
        let sandbox: Vec<&str> = sandbox.split(',').collect();
        let without = SandboxPart::ALL.into_iter();
        let without = without.filter(|part| !sandbox.contains(&part.name())).collect();
        let run_as = (!user.is_empty()).then(|| user.parse::<RunAs>());
        let Ok(sandbox) = run_as
            .transpose()
            .map_err(io::Error::other)
            .and_then(|run_as| Sandbox::new(run_as, without).map_err(io::Error::other))
        else {
            return ExitCode::from(NO_SANDBOX);
        };
        let Some((_, act)) = TRIES.iter().find(|(name, _)| name == what) else {
            return ExitCode::from(NO_SANDBOX);
        };
        let enter = || {
            let needs = Needs {
                files: Ok(vec![(root.to_owned(), Access::Write)]),
                connects: Vec::new(),
                calls: Calls::Files,
                capabilities: false,
            };
            match sandbox.enter(&needs) {
                Ok(said) => print!("{}", said.unwrap_or_default()),
                Err(why) => print!("{LACKS}{why}"),
            }
        };
        let done = if what == "thread" {
            std::thread::scope(|scope| {
                let (go, wait) = std::sync::mpsc::channel();
                let before = scope.spawn(move || wait.recv().map_or(Ok(()), |()| act(root)));
                enter();
                let _ = go.send(());
                before.join().unwrap_or(Ok(()))
            })
        } else {
            enter();
            act(root)
        };
        let why = done.map_or_else(|why| why.raw_os_error().unwrap_or(199), |()| 0);
        ExitCode::from(u8::try_from(why).unwrap_or(198))
    }

    /// What an attempt ended with, and what it said of its sandbox.
    fn attempt(root: &Path, port: u16, sandbox: &[SandboxPart], user: &str, what: &str) -> (i32, String) {
        let sandbox: Vec<&str> = sandbox.iter().map(|part| part.name()).collect();
        let own = std::env::current_exe().unwrap_or_default();
        let mut command = Command::new(own);
        command.arg(INSIDE).arg(root).arg(sandbox.join(",")).args([user, what]);
        match command.env("PORT", port.to_string()).output() {
            Ok(output) => (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stdout).into_owned()),
            Err(why) => (-1, why.to_string()),
        }
    }

    fn prepared(root: &Path) -> io::Result<()> {
        let open = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
        let above = root.parent().unwrap_or(root);
        open(above, 0o755)?;
        fs::create_dir(root)?;
        open(root, 0o777)?;
        fs::write(root.join("inside"), "x")?;
        fs::write(beside(root), "x")?;
        open(&beside(root), 0o666)?;
        let of_root = root.with_file_name("of_root");
        fs::write(&of_root, "x")?;
        open(&of_root, 0o600)?;
        let id = root.with_file_name("setuid_id");
        fs::copy("/usr/bin/id", &id)?;
        open(&id, 0o4755)
    }

    pub(super) fn main() -> ExitCode {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        if let Some((INSIDE, rest)) = arguments.split_first().map(|(it, rest)| (it.as_str(), rest)) {
            return inside(rest);
        }
        let listing = arguments.iter().any(|it| it == "--list");
        let filter = arguments.iter().find(|it| !it.starts_with("--"));
        let Ok(folder) = tempfile::tempdir() else {
            return ExitCode::FAILURE;
        };
        let root = folder.path().join("root");
        let listener = TcpListener::bind("127.0.0.1:0");
        let port = listener.as_ref().ok().and_then(|it| it.local_addr().ok());
        let (Ok(()), Some(port)) = (prepared(&root), port.map(|it| it.port())) else {
            return ExitCode::FAILURE;
        };
        let is_root = rustix::process::geteuid().is_root();
        let mut failed = 0;
        let mut check = |name: &str, expected: [i32; 2], sandbox: &[SandboxPart], user: [&str; 2], what: &str| {
            if filter.is_some_and(|filter| !name.contains(filter.as_str())) {
                return;
            }
            if listing {
                println!("{name}: test");
                return;
            }
            let (off, _) = attempt(&root, port, &[], user[0], what);
            let (on, said) = attempt(&root, port, sandbox, user[1], what);
            let lacks = sandbox.iter().any(|part| {
                let part = part.name().replace('-', " ").replace("privs", "privileges");
                said.to_lowercase().contains(&format!("{}{part}", LACKS.to_lowercase()))
            });
            if lacks {
                println!("test {name} ... left out ({said})");
            } else if [off, on] == expected {
                println!("test {name} ... ok");
            } else {
                failed += 1;
                println!(
                    "test {name} ... FAILED: without sandbox {off}, with them {on}, expected {expected:?} ({said})"
                );
            }
        };
        for case in CASES {
            let name = format!("{}_is_stopped", case.tries);
            check(&name, [0, case.answer], case.sandbox, ["", ""], case.tries);
        }
        let user = if is_root { "65534:65534" } else { "" };
        check("what_is_served_is_served", [0, 0], &SandboxPart::ALL, ["", user], "served");
        for case in CASES_OF_ROOT {
            let name = format!("{}_is_stopped", case.tries);
            if is_root {
                let user = case.run_as.unwrap_or_default();
                // Only of a user other than root can it be seen what a setuid program gives.
                let before = if case.sandbox.is_empty() { "" } else { user };
                check(&name, [0, case.answer], case.sandbox, [before, user], case.tries);
            } else if !listing {
                println!("test {name} ... left out, as only root can become another");
            }
        }
        if failed > 0 {
            println!("\ntest result: FAILED. {failed} failed");
            return ExitCode::FAILURE;
        }
        println!("\ntest result: ok.");
        ExitCode::SUCCESS
    }
}
