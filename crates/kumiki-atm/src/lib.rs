//! ATM above its cells: adaptation layers, and what stands between them and IP.
//!
//! Each is a node of a graph ([`kumiki_graph::Protocol`]); its octets are in the file of the same name in
//! `kumiki-wire`, and cells are the affair of a device.
//!
//! | layer | protocols |
//! |---|---|
//! | address resolution | [`atm_arp`] |
//! | encapsulation | [`llc_snap`], [`vc_mux`] |
//! | adaptation | [`aal5`], [`aal34`], both by [`convergence`] |
//!
//! IP over one virtual channel of ATM. What comes is 48 octets of nothing, whose check sequence is wrong:
//!
//! ```
//! use core::net::Ipv4Addr;
//! use kumiki_atm::{aal5::Aal5, llc_snap::{self, LlcSnap}};
//! use kumiki_graph::{Graph, Indication, Instant, Service, Unit};
//! use kumiki_inet::ip::{self, Ip};
//! use kumiki_octets::{Message, Vc};
//!
//! let mut graph = Graph::new(1, 0);
//! let adapter = graph.add_device("adapter", Service::FRAME)?;
//! let task = graph.add_task("cpu");
//! let interface = ip::Interface::new("llc_snap", Ipv4Addr::new(10, 0, 0, 1), 24);
//! graph.add_node("ip", task, Box::new(Ip::new(ip::Config::host(interface))?))?;
//! let vc = Vc::circuit("0/100").expect("VPI 0, VCI 100");
//! graph.add_node("llc_snap", task, Box::new(LlcSnap::new(llc_snap::Config { vc })))?;
//! graph.add_node("aal5", task, Box::new(Aal5::default()))?;
//! for (upper, lower) in [("ip", "llc_snap"), ("llc_snap", "aal5"), ("aal5", "adapter")] {
//!     graph.connect(upper, lower)?;
//! }
//! graph.start(Instant::ZERO)?;
//!
//! let pdu = Unit::of(Message::from_octets(&[0; 48]));
//! graph.input(Instant::ZERO, adapter, Indication::Unit(Box::new(pdu)));
//! graph.run(task, Instant::ZERO, 16);
//! let aal5: &Aal5 = graph.find("aal5").expect("it was added");
//! assert_eq!(aal5.part().crc_errors, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod aal34;
pub mod aal5;
pub mod atm_arp;
pub mod convergence;
pub mod kinds;
pub mod llc_snap;
pub mod vc_mux;
