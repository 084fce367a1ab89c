//! X.25: its link and packet layers, what carries them, a switch between them, and terminals on top.
//!
//! Each is a node of a graph ([`kumiki_graph::Protocol`]); its octets are in the file of the same name in
//! `kumiki-wire`.
//!
//! | layer | protocols |
//! |---|---|
//! | terminals | [`pad`], [`pad_host`], [`telnet`] |
//! | packet | [`x25`], and between interfaces [`x25_switch`] |
//! | carriers | [`lapb`] with [`lapb_ether`] and [`x32`], [`x25_iface`], [`xot`] |
//!
//! X.25 on LAPB on a line. The packet layer asks for the link when it starts, so the first frame is LAPB's SABM:
//!
//! ```
//! use kumiki_graph::{Graph, Instant, Request, Service};
//! use kumiki_x25::{lapb::{self, Lapb}, x25::{self, X25}};
//!
//! let mut graph = Graph::new(1, 0);
//! graph.add_device("line", Service::FRAME)?;
//! let task = graph.add_task("cpu");
//! graph.add_node("x25", task, Box::new(X25::new(x25::Config::default())?))?;
//! graph.add_node("lapb", task, Box::new(Lapb::new(lapb::Config::default())?))?;
//! graph.connect("x25", "lapb")?;
//! graph.connect("lapb", "line")?;
//! graph.start(Instant::ZERO)?;
//! graph.run(task, Instant::ZERO, 16);
//!
//! let sent = graph.output().expect("a frame");
//! let Request::Unit(frame) = sent.request else { panic!("a line takes frames") };
//! assert_eq!(frame.data.to_vec(), [0x01, 0x3f]); // the address of a DCE, and SABM with P
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod kinds;
pub mod lapb;
pub mod lapb_ether;
pub mod pad;
pub mod pad_host;
pub mod telnet;
pub mod x25;
pub mod x25_iface;
pub mod x25_switch;
pub mod x32;
pub mod xot;

/// What a CLEAR, RESET or RESTART said, where one is the reason.
fn packet_cause(reason: &kumiki_graph::Reason) -> Option<kumiki_osi_service::x25::PacketCause> {
    match reason.cause()? {
        kumiki_osi_service::x25::Cause::Packet(told) => Some(*told),
        kumiki_osi_service::x25::Cause::FrameRejected(_) | kumiki_osi_service::x25::Cause::CircuitRefused(_) => None,
    }
}
