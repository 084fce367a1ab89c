//! A host that is real by a serial line: who speaks PPP there has its address.
//!
//! ```text
//! the world -- hop -- PPP, in a thread of its own -- serial line -- somebody's PPP, which is the host
//! ```
//!
//! | | |
//! |---|---|
//! | Address | the peer is given the host's address of IPv4, and no other; ours is that of a neighbour of the host in the scenario |
//! | Ends | when the peer hangs up it is waited for until it, or another one, comes again; at the end of the run the link is closed in order |
//! | Left out | authentication, and addresses of IPv6 beyond that of the link, which PPP does not give: the peer sets them itself |

use core::net::{IpAddr, Ipv4Addr};
use std::thread::{self, JoinHandle};

use kumiki_io::{RealClock, RealDevice};
use kumiki_lab::experiment::RealHost;
use kumiki_live::{OutputFormat, ShutdownRequest};
use kumiki_pppd::{Config, Ipv4, Ipv6, Opening, Options, User};

use crate::hop;

/// What we are where the host has no neighbour: the dummy address of RFC 7600, from which nobody is reached.
const DUMMY: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 8);

/// The link, which ends when it is told to.
pub(super) struct Serial {
    wish: ShutdownRequest,
    thread: JoinHandle<()>,
}

impl Serial {
    /// Starts it on `line` for `host`, in a network in which hosts have the addresses `known`. Returns the device by
    /// which it is reached, too.
    ///
    /// # Errors
    /// What is wrong with the line, or what this process may not have.
    pub(super) fn start(
        line: &str,
        host: &RealHost,
        known: &[IpAddr],
        clock: RealClock,
        say: impl Fn(&str) + Send + 'static,
    ) -> Result<(Self, Box<dyn RealDevice>), String> {
        let opening: Opening = line.parse()?;
        if matches!(opening, Opening::Standard | Opening::Descriptor(_)) {
            return Err(
                "programs have the standard streams; write tty:PATH, unix:PATH, listen:PATH, pty or exec:COMMAND"
                    .to_owned(),
            );
        }
        let [near, far] = hop::pair(host.mtu, clock).map_err(|why| why.to_string())?;
        let options = options(opening, host, known);
        let (wish, name) = (ShutdownRequest::default(), host.name.clone());
        let its = wish.clone();
        let thread = thread::Builder::new().name("ppp".to_owned()).spawn(move || {
            let mut tell = |text: &str| say(&format!("host {name}: {}", text.trim_start()));
            let ended = kumiki_pppd::run_until(&options, User::device(Box::new(far)), its, &mut tell);
            if let Err(why) = ended {
                tell(&why.to_string());
            }
        });
        let thread = thread.map_err(|why| why.to_string())?;
        Ok((Self { wish, thread }, Box::new(near)))
    }

    /// Closes it.
    pub(super) fn end(self) {
        self.wish.make();
        // What went wrong was said.
        let _ = self.thread.join();
    }
}

fn options(line: Opening, host: &RealHost, known: &[IpAddr]) -> Options {
    let own = host.addresses.iter().find_map(|(address, prefix)| match address {
        IpAddr::V4(address) => Some((*address, *prefix)),
        IpAddr::V6(_) => None,
    });
    let ipv4 =
        own.map(|(remote, prefix)| Ipv4 { local: neighbour((remote, prefix), known), remote, ..Ipv4::default() });
    let has_ipv6 = host.addresses.iter().any(|(address, _)| address.is_ipv6());
    // As `kumiki ppp` begins: a line of octets, and a peer that may come late.
    let daemon = Config {
        mru: host.mtu,
        accm: Some(0),
        pfc: true,
        acfc: true,
        ipv4,
        ipv6: has_ipv6.then(Ipv6::default),
        restart_first: kumiki_live::Duration::from_secs(1),
        passive: true,
        persist: true,
        ..Config::default()
    };
    Options {
        line,
        persist: true,
        daemon,
        mtu: host.mtu,
        set: Vec::new(),
        pcap: None,
        snaplen: 0,
        record: None,
        verbose: false,
        form: OutputFormat::Text,
        #[cfg(target_os = "linux")]
        sandbox: kumiki_live::sandbox::Sandbox::none(),
    }
}

/// The first address of another host in the network of `own`.
fn neighbour((own, prefix): (Ipv4Addr, u8), known: &[IpAddr]) -> Ipv4Addr {
    let shift = 32_u32.saturating_sub(prefix.into());
    let network = |address: Ipv4Addr| address.to_bits().checked_shr(shift).unwrap_or(0);
    let mut others = known.iter().filter_map(|address| if let IpAddr::V4(it) = address { Some(*it) } else { None });
    others.find(|it| *it != own && network(*it) == network(own)).unwrap_or(DUMMY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_are_a_neighbour_of_the_host() {
        let own: Ipv4Addr = "10.0.0.9".parse().unwrap();
        let known: Vec<IpAddr> = ["10.0.1.1", "fd00::1", "10.0.0.9", "10.0.0.4"].map(|it| it.parse().unwrap()).into();
        assert_eq!(neighbour((own, 24), &known).to_string(), "10.0.0.4");
        assert_eq!(neighbour((own, 16), &known).to_string(), "10.0.1.1");
        assert_eq!(neighbour((own, 0), &known).to_string(), "10.0.1.1");
        assert_eq!(neighbour((own, 32), &known), DUMMY);
    }
}
