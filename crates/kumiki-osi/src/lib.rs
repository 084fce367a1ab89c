//! OSI from RFC 1006 to the association: what FTAM and MMS stand on.
//!
//! Each is a node of a graph ([`kumiki_graph::Protocol`]); its octets are in the file of the same name in
//! `kumiki-wire`.
//!
//! | layer | protocols |
//! |---|---|
//! | application | [`acse`] |
//! | presentation, session | [`presentation`], [`session`] |
//! | transport | [`tp0`] over [`tpkt`], or over a packet layer of X.25 |
//! | all of them but [`tpkt`] | [`layer`]: what is the same in each; [`entries`]: connections and listeners by handle |
//!
//! Session and transport on TCP. A session is asked for, and what leaves at the bottom is the call that RFC
//! 1006 makes of TCP:
//!
//! ```
//! use kumiki_graph::{Above, Below, Context, Graph, Indication, Instant, Protocol, Request, Service, Shape};
//! use kumiki_osi::{session::{self, Session}, tp0::{self, Tp0}, tpkt::{self, Tpkt}};
//!
//! struct Caller;
//!
//! impl Protocol for Caller {
//!     fn shape(&self) -> Shape {
//!         Shape { needs: &[session::SERVICE], below: (1, 1), ..Shape::default() }
//!     }
//!
//!     fn start(&mut self, cx: &mut Context<'_>) {
//!         cx.down(Below(0), Request::Open(Box::default()));
//!     }
//!
//!     fn pop(&mut self, _: Below, _: Indication, _: &mut Context<'_>) {}
//!
//!     fn push(&mut self, _: Above, _: Request, _: &mut Context<'_>) {}
//! }
//!
//! let mut graph = Graph::new(1, 0);
//! graph.add_device("tcp", Service::STREAM)?;
//! let task = graph.add_task("cpu");
//! graph.add_node("caller", task, Box::new(Caller))?;
//! graph.add_node("session", task, Box::new(Session::new(session::Config::default())))?;
//! graph.add_node("tp0", task, Box::new(Tp0::new(tp0::Config::default())))?;
//! graph.add_node("tpkt", task, Box::new(Tpkt::new(tpkt::Config::default())))?;
//! for (upper, lower) in [("caller", "session"), ("session", "tp0"), ("tp0", "tpkt"), ("tpkt", "tcp")] {
//!     graph.connect(upper, lower)?;
//! }
//! graph.start(Instant::ZERO)?;
//! graph.run(task, Instant::ZERO, 16);
//! assert!(matches!(graph.output().expect("a call").request, Request::Open(_)));
//! # Ok::<(), kumiki_graph::GraphError>(())
//! ```

pub mod acse;
pub mod entries;
pub mod kinds;
pub mod layer;
pub mod presentation;
pub mod session;
pub mod tp0;
pub mod tpkt;
