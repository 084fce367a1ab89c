//! The near end of the path: a program in namespaces of its own, or a proxy on this host and perhaps a program that is
//! told of it.

use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender};

use kumiki_config::refusal;
use kumiki_io::{RealClock, RealDevice};
use kumiki_net::host::HostStack;

use crate::namespace::{self, Files, Namespace, Network, Program, SignalForwarder};
use crate::proxy::Proxy;
use crate::{Config, EmulateError, failed, hop, signals};

/// The variables by which programs find a proxy; the second kind is for `http` and `https` URIs.
const FOR_ALL: [&str; 2] = ["all_proxy", "ALL_PROXY"];
const FOR_HTTP: [&str; 3] = ["http_proxy", "https_proxy", "HTTPS_PROXY"];

/// By which they leave it aside.
const NOT_FOR: [&str; 2] = ["no_proxy", "NO_PROXY"];

/// See the module.
pub(crate) enum NearEnd {
    /// A program in namespaces, until it has begun.
    Namespace(Option<Namespace>),
    /// A proxy.
    Proxy(Proxy),
}

impl NearEnd {
    /// With the device that is the near end of the path.
    pub(crate) fn open(
        config: &Config,
        clock: RealClock,
        say: &(impl Fn(&str) + Clone + Send + 'static),
    ) -> Result<(Self, Box<dyn RealDevice>), EmulateError> {
        if let Some(address) = config.proxy {
            let [near, far] = hop::pair(config.mtu, clock).map_err(failed("no descriptor to wait with"))?;
            let proxy = Proxy::start(address, Box::new(near), config.mtu, config.loopback, say.clone());
            let proxy = proxy.map_err(|why| of_proxy(address, &why))?;
            return Ok((Self::Proxy(proxy), Box::new(far)));
        }
        let files = Files { resolver: (!config.keep_resolver).then_some(namespace::GATEWAY_4.into()), hosts: None };
        let network = Network::of_link(config.mtu);
        let begun = Namespace::begin(&config.program, &network, &files, io::stdin().as_fd());
        let (namespace, tun) = begun.map_err(EmulateError::new)?;
        Ok((Self::Namespace(Some(namespace)), Box::new(tun)))
    }

    /// Runs the program to its end, and without one until a signal has come. Signals are passed on to it and told to
    /// `seen`. Returns the status.
    pub(crate) fn run(
        &mut self,
        config: &Config,
        (seen, signals): (Sender<i32>, &Receiver<i32>),
        say: &impl Fn(&str),
    ) -> Result<u8, EmulateError> {
        let listening = failed("cannot listen to signals");
        // Ahead of any program, which would stay where a signal ended this process alone.
        let heard = signals::hear().map_err(&listening)?;
        let program = match self {
            Self::Namespace(namespace) => {
                let namespace = namespace.take().ok_or_else(|| EmulateError::new("the program has run".to_owned()))?;
                let passing = namespace.passing().map_err(failed("the program's process"))?;
                heard.pass_on(Some(passing), seen).map_err(listening)?;
                namespace.go().map_err(EmulateError::new)?
            }
            Self::Proxy(proxy) if config.program.is_empty() => {
                heard.pass_on(None, seen).map_err(listening)?;
                say(&format!("a proxy for SOCKS 5 and HTTP is at {}; Ctrl-C ends it", proxy.address()));
                return Ok(signals.recv().map_or(0, |signal| u8::try_from(128 + signal).unwrap_or(u8::MAX)));
            }
            Self::Proxy(proxy) => match start(&config.program, proxy.address()) {
                Ok(program) => {
                    let passing = SignalForwarder::to(&program).map_err(EmulateError::new)?;
                    heard.pass_on(Some(passing), seen).map_err(listening)?;
                    program
                }
                Err((status, why)) => {
                    say(&why);
                    return Ok(status);
                }
            },
        };
        let status = program.wait().map_err(failed("the program"))?;
        // Those have been the program's.
        while signals.try_recv().is_ok() {}
        Ok(status)
    }

    /// Whether nothing is served that has not reached the path.
    pub(crate) fn is_idle(&self) -> bool {
        match self {
            Self::Namespace(_) => true,
            Self::Proxy(proxy) => proxy.is_idle(),
        }
    }

    /// Ends it. Returns the stack that is the near end of the path until it is dropped, if there is one.
    pub(crate) fn end(self) -> Option<HostStack> {
        match self {
            Self::Namespace(_) => None,
            Self::Proxy(proxy) => proxy.end(),
        }
    }
}

/// Why there is no proxy at `address`: as with a control socket, another one may be meant.
fn of_proxy(address: SocketAddr, why: &io::Error) -> EmulateError {
    use io::ErrorKind::{AddrInUse, AddrNotAvailable, PermissionDenied};
    let is_mistake = matches!(why.kind(), AddrInUse | AddrNotAvailable | PermissionDenied);
    EmulateError { why: refusal::unnumbered(&format!("--proxy {address}: {why}")), is_mistake }
}

/// Starts the program, which finds the proxy in its environment. `Err` has the status of a shell where that fails, and
/// why.
fn start(program: &[OsString], proxy: SocketAddr) -> Result<Program, (u8, String)> {
    let Some((name, arguments)) = program.split_first() else {
        return Err((namespace::FAILED, "no program".to_owned()));
    };
    let mut command = Command::new(name);
    command.args(arguments);
    for variable in FOR_ALL {
        // Names are for the proxy to look up.
        command.env(variable, format!("socks5h://{proxy}"));
    }
    for variable in FOR_HTTP {
        command.env(variable, format!("http://{proxy}"));
    }
    for variable in NOT_FOR {
        command.env_remove(variable);
    }
    Program::start(&mut command).map_err(|why| namespace::not_begun(name, &why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_somebody_has_is_a_mistake_of_the_command_line() {
        let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = taken.local_addr().unwrap();
        let [near, _far] = hop::pair(1500, RealClock::start()).unwrap();
        let why = Proxy::start(address, Box::new(near), 1500, true, |_| {}).err().unwrap();
        let why = of_proxy(address, &why);
        assert!(why.is_mistake() && why.to_string().starts_with(&format!("--proxy {address}: ")), "{why}");
    }
}
