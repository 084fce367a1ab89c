//! Serving files below a directory, whichever protocol brings the callers: from the command line to
//! [`kumiki_filetransfer::osi::serve`].

use core::net::{Ipv6Addr, SocketAddr};
use core::str::FromStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use kumiki_config::quantity::Octets;
use kumiki_filetransfer::files::Passwords;
use kumiki_filetransfer::osi::{
    self, CallUserData, Carrier, Circuit, Daemon, Listen, Names, Oid, Reload, Selector, Sels, ServedProtocol, Title,
    X121,
};
use kumiki_filetransfer::url;
use kumiki_live::logbook::Logbook;
use kumiki_live::sandbox::{Access, Calls, Needs, above, enter};
use kumiki_live::{Duration, LiveError, OutputFormat, place, refusal};

use super::work;
use crate::callers::{Callers, memory, pcap_most};
use crate::cli::Snap;
use crate::commands::{Stop, has_place, shown};
use crate::live::{option, some_time};
use crate::sandbox;

/// Whom to serve, how, and for how long.
#[derive(Args, Debug)]
pub(crate) struct Serve {
    /// The directory whose files are served; nothing else can be reached
    #[arg(long, value_name = "DIR", required = true)]
    root: Option<PathBuf>,
    #[command(flatten)]
    reach: ListenArguments,
    #[command(flatten)]
    who: AccessArgs,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    sandbox: sandbox::SandboxOptions,
    /// Write what crosses the connection of the first association to this file, as pcapng, and that of others to FILE.2
    /// and so on
    #[arg(long, value_name = "FILE", help_heading = "Running")]
    pcap: Option<PathBuf>,
    #[command(flatten)]
    snap: Snap,
    /// The most octets of all these files together; then captures end, each behind a whole packet
    #[arg(long = "max-pcap", value_name = "SIZE", default_value = "1GB", help_heading = "Running")]
    pcap_most: String,
    /// Serve one association, and end; who is refused does not count
    #[arg(long, help_heading = "Running")]
    once: bool,
    /// Write the addresses and ports, a line each, to this file when callers can come
    #[arg(long, value_name = "FILE", help_heading = "Running")]
    port_file: Option<PathBuf>,
    /// Tell beginnings too
    #[arg(short, long, help_heading = "Running")]
    verbose: bool,
}

/// How callers reach it.
#[derive(Args, Debug)]
#[command(next_help_heading = "How callers reach it")]
struct ListenArguments {
    #[arg(
        long,
        value_name = "ADDRESS[:PORT]",
        help = "Callers of RFC 1006 come in here, at 102 unless another port is given (0: any); [::]:102 unless given, and not with --xot alone"
    )]
    listen: Vec<ListenAddress>,
    /// Callers of XOT come in here, at 1998 unless another port is given
    #[arg(long, value_name = "ADDRESS[:PORT]")]
    xot: Vec<ListenAddress>,
    /// Only who calls this transport selector: 0x0103, #259, "FTAM" or FTAM
    #[arg(long, value_name = "SELECTOR")]
    tsel: Option<Selector>,
    /// Only who calls this session selector
    #[arg(long, value_name = "SELECTOR")]
    ssel: Option<Selector>,
    /// Only who calls this presentation selector
    #[arg(long, value_name = "SELECTOR")]
    psel: Option<Selector>,
    /// Our application process title, such as 1.17.4.0.16
    #[arg(long, value_name = "OID")]
    title: Option<Oid>,
    /// Our X.121 address
    #[arg(long, value_name = "DIGITS")]
    x121: Option<String>,
    /// Octets of a packet of X.25 that are agreed to, on XOT; 1024 unless given
    #[arg(long, value_name = "OCTETS", value_parser = url::packet)]
    packet: Option<u16>,
    /// Packets of a window of X.25 that are agreed to, on XOT; 7 unless given
    #[arg(long, value_name = "N", value_parser = url::window)]
    window: Option<u8>,
    /// What the user data of calls of X.25 begins with that are taken, in hexadecimal; 03010100 unless given
    #[arg(long, value_name = "HEX", value_parser = url::call_user_data)]
    cud: Option<CallUserData>,
    /// The largest TPDU; 8192 unless given, and 2048 on XOT
    #[arg(long, value_name = "OCTETS")]
    tpdu: Option<u16>,
}

/// Who is let in.
#[derive(Args, Debug)]
#[command(next_help_heading = "Who is let in")]
struct AccessArgs {
    /// Users and their passwords: lines that `kumiki ftamd password` makes. Nobody else may read it; SIGHUP has it read
    /// again
    #[arg(long, value_name = "FILE", conflicts_with = "anonymous")]
    passwords: Option<PathBuf>,
    /// Only this user of that file; ftamd takes it several times, mmsd once
    #[arg(long, value_name = "NAME", requires = "passwords", conflicts_with = "anonymous")]
    user: Vec<String>,
    /// Everybody, whatever the name and password
    #[arg(long)]
    anonymous: bool,
    /// Nothing is written, made or removed
    #[arg(long)]
    read_only: bool,
}

/// How much.
#[derive(Args, Debug)]
#[command(next_help_heading = "Limits")]
struct Limits {
    /// The most octets in the directory, what was there before among them
    #[arg(long, value_name = "SIZE")]
    quota: Option<String>,
    /// The most entries in it, files and directories; unless given, one for each 4 KiB of --quota, and at least 64
    #[arg(long, value_name = "N")]
    files: Option<u64>,
    /// The most octets of one file
    #[arg(long = "max-file-size", value_name = "SIZE")]
    longest_file: Option<String>,
    /// The most memory that callers may take together; less where `ulimit -v` or the cgroup leaves less. Over half of
    /// it, callers without an association are refused
    #[arg(long, value_name = "SIZE", default_value = "128MiB")]
    memory: String,
    /// The most associations at once
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..))]
    associations: u16,
    #[command(flatten)]
    callers: Callers,
    /// So many wrong passwords a minute are answered to one network (a /24 of IPv4, a /48 of IPv6), and at one user;
    /// who has the right one gets in all the same, but from a network whose guesses are so many that no more are looked
    /// at. 0: all
    #[arg(long = "max-tries", value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(..=10_000))]
    tries: u32,
    /// After so long without a word an association is ended
    #[arg(long, value_name = "TIME", default_value = "10min")]
    idle: String,
    /// The same while it has a file locked for others; 0s: not sooner
    #[arg(long, value_name = "TIME", default_value = "1min")]
    lock_idle: String,
    /// After so long an association is ended in any case
    #[arg(long = "max-time", value_name = "TIME")]
    longest: Option<String>,
}

impl Serve {
    /// The users that were named.
    pub(crate) fn users(&self) -> &[String] {
        &self.who.user
    }

    /// Whether callers need a password.
    pub(crate) const fn asks_for_passwords(&self) -> bool {
        self.who.passwords.is_some()
    }

    /// What is needed in the sandbox, where `root` is served.
    fn needs(&self, root: &Path) -> Result<Needs, Stop> {
        let access = if self.who.read_only { Access::Read } else { Access::Write };
        let mut places = vec![(root.to_owned(), access)];
        let captures = self.pcap.as_deref();
        for (option, path) in [("--pcap", captures), ("--port-file", self.port_file.as_deref())] {
            path.map_or(Ok(()), |path| has_place(option, path))?;
        }
        // The whole directory, for what replaces the file is another file.
        let secrets = self.who.passwords.as_deref();
        places.extend(secrets.map(|path| (above(path), Access::Read)));
        places.extend(captures.map(|path| (above(path), Access::Make)));
        Ok(Needs { files: Ok(places), connects: Vec::new(), calls: Calls::Files, capabilities: false })
    }
}

/// An address, and a port or none.
#[derive(Clone, Copy, Debug)]
struct ListenAddress {
    ip: core::net::IpAddr,
    port: Option<u16>,
}

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(at) = text.parse::<SocketAddr>() {
            return Ok(Self { ip: at.ip(), port: Some(at.port()) });
        }
        let bare = text.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        if let Ok(ip) = bare.unwrap_or(text).parse() {
            return Ok(Self { ip, port: None });
        }
        let (front, behind) = text.rsplit_once(':').unwrap_or((text, ""));
        let is_address = |it: &str| {
            let bare = it.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
            bare.unwrap_or(it).parse::<core::net::IpAddr>().is_ok()
        };
        let why = if is_address(front) {
            format!("{behind:?} is no port, which is a number from 0 to 65535")
        } else if front.chars().any(|it| it.is_ascii_alphabetic()) && !front.contains(':') {
            format!("{front:?} is a name, and names are not looked up")
        } else {
            format!("{text:?} is no address")
        };
        Err(format!("{why}; write an address and, if it is another, a port, such as 127.0.0.1:10102 or [::]"))
    }
}

impl ListenArguments {
    /// Refuses what would be of no use: what is said of X.25 where no callers come by it.
    fn check(&self) -> Result<(), Stop> {
        let of_x25 = [
            ("--x121", self.x121.is_some()),
            ("--packet", self.packet.is_some()),
            ("--window", self.window.is_some()),
            ("--cud", self.cud.is_some()),
        ];
        match of_x25.iter().find(|(_, is_given)| *is_given) {
            Some((name, _)) if self.xot.is_empty() => Err(Stop::Input(format!(
                "{name} is about calls of X.25, and none come in; expected --xot ADDRESS beside it"
            ))),
            Some(_) | None => self.check_tpdu(),
        }
    }

    fn check_tpdu(&self) -> Result<(), Stop> {
        if self.tpdu.is_none_or(url::is_tpdu_size) {
            return Ok(());
        }
        Err(Stop::Input(format!("--tpdu: {}", url::TPDU_SIZES)))
    }

    /// Where callers come in; where nothing is said, by RFC 1006 at every address.
    fn listen(&self) -> Vec<Listen> {
        let any = ListenAddress { ip: Ipv6Addr::UNSPECIFIED.into(), port: None };
        let any = Some(any).filter(|_| self.listen.is_empty() && self.xot.is_empty());
        let tcp = self.listen.iter().chain(&any).map(|it| it.listen(Carrier::Rfc1006));
        tcp.chain(self.xot.iter().map(|it| it.listen(Carrier::Xot))).collect()
    }

    /// How calls of X.25 are taken.
    fn circuit(&self) -> Circuit {
        let usual = Circuit::default();
        Circuit {
            packet: self.packet.unwrap_or(usual.packet),
            window: self.window.unwrap_or(usual.window),
            user_data: self.cud.unwrap_or(usual.user_data),
            ..usual
        }
    }
}

impl ListenAddress {
    fn listen(self, carrier: Carrier) -> Listen {
        let port = self.port.unwrap_or_else(|| carrier.port());
        Listen { at: SocketAddr::new(self.ip, port), carrier }
    }
}

/// The users of a file, or only these.
fn passwords_of(path: &Path, users: &[String]) -> Result<Passwords, String> {
    Passwords::read(path, users).map_err(|why| format!("--passwords {}: {why}", path.display()))
}

/// Who is let in, and what reads that again.
fn passwords(who: &AccessArgs) -> Result<(Passwords, Option<Reload>), Stop> {
    let Some(path) = &who.passwords else {
        if who.anonymous {
            return Ok((Passwords::anonymous(), None));
        }
        return Err(Stop::Input(
            "no user could log in; expected --passwords FILE (`kumiki ftamd password NAME` prints its lines), or --anonymous \
             for everybody"
                .to_owned(),
        ));
    };
    let found = passwords_of(path, &who.user).map_err(Stop::Input)?;
    let (path, users) = (path.clone(), who.user.clone());
    let reload = Reload(Arc::new(move || passwords_of(&path, &users)));
    Ok((found, Some(reload)))
}

impl Serve {
    /// What is served, to whom and how; transfers that broke are kept for so long.
    fn daemon(&self, root: PathBuf, serves: ServedProtocol, keep: Duration) -> Result<Daemon, Stop> {
        let (reach, limits) = (&self.reach, &self.limits);
        let x121 = match &reach.x121 {
            Some(digits) => digits.parse::<X121>().map_err(|why| Stop::Input(format!("--x121: {why}")))?,
            None => X121::NONE,
        };
        let octets = |name: &str, text: &Option<String>| -> Result<Option<u64>, Stop> {
            let octets = text.as_deref().map(|text| option::<Octets>(name, text));
            Ok(octets.transpose()?.map(Octets::count))
        };
        let longest = limits.longest.as_deref();
        let longest = longest.map(|text| some_time("--max-time", text)).transpose()?;
        let (passwords, reload) = passwords(&self.who)?;
        Ok(Daemon {
            serves,
            root,
            listen: reach.listen(),
            passwords,
            reload,
            read_only: self.who.read_only,
            quota: octets("--quota", &limits.quota)?,
            files: limits.files,
            longest_file: octets("--max-file-size", &limits.longest_file)?,
            limits: limits.callers.limits(limits.associations.into())?,
            tries: limits.tries,
            memory: memory(&limits.memory)?,
            lock_idle: option("--lock-idle", &limits.lock_idle)?,
            begin: limits.callers.begin()?,
            idle: some_time("--idle", &limits.idle)?,
            longest,
            keep,
            called: Sels { transport: reach.tsel, session: reach.ssel, presentation: reach.psel },
            names: Names { ap_title: reach.title.map(Title::Oid), ..Names::default() },
            tpdu_size: reach.tpdu,
            x121,
            circuit: reach.circuit(),
            once: self.once,
            pcap: self.pcap.clone(),
            pcap_most: pcap_most(&self.pcap_most)?,
            snaplen: self.snap.length(),
            verbose: self.verbose,
        })
    }
}

/// ServedProtocol until Ctrl-C, or once. Transfers that broke are kept for so long.
pub(crate) fn serve(args: &Serve, serves: ServedProtocol, keep: Duration) -> Result<(), Stop> {
    let root = args.root.clone();
    let root = root.ok_or_else(|| Stop::Input("--root is missing".to_owned()))?;
    args.reach.check()?;
    if let (Some(size), false) = (args.reach.tpdu, args.reach.xot.is_empty()) {
        work::warn(Carrier::Xot, size);
    }
    let (sandbox, needs) = (args.sandbox.sandbox()?, args.needs(&root)?);
    let daemon = args.daemon(root, serves, keep)?;
    let behind = daemon.reload.clone();
    let log = Logbook::standard(OutputFormat::Text);
    let mut say = |line: &str| log.tell(&shown(line));
    let mut ready = |bound: &[Listen]| -> Result<(), LiveError> {
        let mut lines = String::new();
        for Listen { at, carrier } in bound {
            log.tell(&format!("listens at {at} ({carrier})"));
            lines.push_str(&format!("{at}\n"));
        }
        if let Some(path) = &args.port_file {
            write_whole(path, &lines).map_err(place("--port-file", path, refusal::Access::Write))?;
        }
        // All is open, and nobody has been let in.
        enter(&sandbox, &needs)?;
        // Whom we have become may read less than whom we were, and learns so when it is too late.
        if let Some(Reload(read)) = &behind
            && let Err(why) = read()
        {
            log.tell(&format!("warning: SIGHUP cannot have the passwords read again: {why}"));
        }
        Ok(())
    };
    osi::serve(daemon, &mut ready, &mut say)?;
    Ok(())
}

/// Writes a file that whoever waits for it finds whole.
fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    std::fs::write(&new, text)?;
    std::fs::rename(&new, path)
}
