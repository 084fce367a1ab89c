//! Kumiki's end: the programs of the other benches, which copy in and out.

use core::net::SocketAddr;

use kumiki_graph::{Duration, Protocol};
use kumiki_io::{DeviceConfig, Executor, ExecutorEnd, Pace, Plug, RealClock, Tun};

use super::{LIMIT_S, LINUX, PORT, STACK, Transfer, TunDirection};
use crate::load::{Load, Work};
use crate::ours::{Layers, host};
use crate::programs::{Answerer, Caller};

/// Written and not acknowledged, in octets: less makes the two ends wait for each other.
const UNDER_WAY: u64 = 1 << 20;

pub(super) fn run(tun: Tun, transfer: Transfer) -> Result<(), String> {
    let mtu = usize::from(transfer.mtu);
    let load = Load { mtu, sessions: 1, work: Work::Octets(transfer.octets), check: false };
    let program: Box<dyn Protocol> = match transfer.way {
        TunDirection::In => Box::new(Answerer::new(SocketAddr::from((STACK, PORT)), load)),
        TunDirection::Out => Box::new(Caller::new(SocketAddr::from((LINUX, PORT)), load, UNDER_WAY)),
    };
    let (graph, node, device) = host(STACK, mtu, Layers::FEW, program).map_err(|why| why.to_string())?;
    let mut executor = Executor::new(RealClock::start(), Pace::default());
    let id = executor.add_graph("stack", graph);
    executor.set_device(id, device, DeviceConfig { mtu: transfer.mtu.into(), burst: 64 });
    let real = executor.add_real(Box::new(tun)).map_err(|why| why.to_string())?;
    executor.plug(Plug::Device(id, device), Plug::Real(real));
    executor.start().map_err(|why| why.to_string())?;
    let done = |executor: &mut Executor<RealClock>| {
        let Some(graph) = executor.graph(id) else {
            return true;
        };
        match transfer.way {
            TunDirection::In => graph.protocol::<Answerer>(node).is_some_and(|it| it.ended >= 1),
            // All of it is acknowledged.
            TunDirection::Out => graph.protocol::<Caller>(node).is_some_and(|it| it.done >= 1 && it.in_flight == 0),
        }
    };
    let ended = executor.run(Duration::from_secs(LIMIT_S), done);
    let counters = executor.real_counters(real);
    if ended != ExecutorEnd::Done {
        return Err(format!("the transfer did not end: {ended:?}, {counters:?}"));
    }
    // What ends the connection leaves.
    executor.run(Duration::from_millis(1), |_| false);
    Ok(())
}
