//! The same path between two interfaces of Linux, each in a network namespace of its own: both ends of TCP are Linux's.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, Sender, channel};

use clap::Args;
use kumiki_delay::{Command, Engine, Instant, Path};
use kumiki_io::namespace::leave_host;
use kumiki_io::{RealClock, RealDevice, Tun, priority};

use super::peer::{self, PeerAction, TOOK};

const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 98, 0, 1));
const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 98, 0, 2));
const PORT: u16 = 5001;

/// As the process is started.
#[derive(Args, Debug)]
pub(crate) struct Parameters {
    /// What both directions are like
    #[arg(long, default_value = "")]
    path: String,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    act: PeerAction,
    #[arg(long)]
    octets: Vec<u64>,
}

/// A network of this thread's own, with one interface, and where its other end goes.
fn interface(address: IpAddr, device: &Sender<Tun>) -> Result<(), String> {
    leave_host(false).map_err(|why| format!("no namespace of one's own: {why}"))?;
    let tun = Tun::open("bench0", 1500).map_err(|why| why.to_string())?;
    tun.kernel().leave_link_local_to_us();
    tun.configure_kernel(address, 24, 1500).map_err(|why| why.to_string())?;
    device.send(tun).map_err(|why| why.to_string())
}

fn device(from: &Receiver<Tun>) -> Result<Box<dyn RealDevice>, String> {
    Ok(Box::new(from.recv().map_err(|_| "no interface")?))
}

/// The process itself: says how long each transfer has taken.
pub(crate) fn be(parameters: &Parameters) -> Result<(), String> {
    let clock = RealClock::start();
    clock.wait_without_slack();
    let (near, near_device) = channel();
    let (far, far_device) = channel();
    let (begin, begins) = channel::<()>();
    let (act, octets) = (parameters.act, parameters.octets.clone());
    let client = std::thread::spawn(move || -> Result<(), String> {
        interface(CLIENT, &near)?;
        begins.recv().map_err(|why| why.to_string())?;
        for octets in octets {
            let seconds = peer::transfer(SocketAddr::new(SERVER, PORT), act, octets).map_err(|why| why.to_string())?;
            println!("{TOOK}{seconds:.6}");
        }
        Ok(())
    });
    std::thread::spawn(move || -> Result<(), String> {
        interface(SERVER, &far)?;
        let listener = TcpListener::bind((SERVER, PORT)).map_err(|why| why.to_string())?;
        let _ = begin.send(());
        peer::serve(&listener);
        Ok(())
    });
    let devices = [device(&near_device)?, device(&far_device)?];
    let mut path = Path::new(parameters.seed);
    for command in super::one::set(&parameters.path)? {
        if let Command::Set(way, changes) = command {
            path.set(Instant::ZERO, way, &changes);
        }
    }
    // Where it may not, packets are late now and then.
    let _ = priority::run_first();
    let mut engine = Engine::new(clock, devices, path, Vec::new()).map_err(|why| why.to_string())?;
    let ended = engine.run(None, || client.is_finished());
    ended.map_err(|failed| failed.why.to_string())?;
    client.join().map_err(|_| "the client panicked".to_owned())?
}

/// The times of transfers, one after the other.
pub(super) fn run(path: &str, seed: u64, act: PeerAction, octets: &[u64]) -> Result<Vec<f64>, String> {
    let seed = seed.to_string();
    let octets: Vec<String> = octets.iter().map(u64::to_string).collect();
    let mut arguments = vec!["link-linux", "--path", path, "--seed", &seed, "--act", act.word()];
    for octets in &octets {
        arguments.extend(["--octets", octets]);
    }
    Ok(super::said(&super::itself(&arguments)?).0)
}
