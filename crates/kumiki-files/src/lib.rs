//! Files over OSI: FTAM, the file services of MMS, and their users.
//!
//! Each is a node of a graph ([`kumiki_graph::Protocol`]); its octets are in the file of the same name in
//! `kumiki-wire`.
//!
//! | layer | protocols |
//! |---|---|
//! | users | [`file_user`] and [`filestore`] of FTAM, [`mms_files`] of MMS |
//! | their nodes | [`node`] |
//! | application | [`ftam`], [`mms`] |
//!
//! A client asks a server of FTAM, in memory, about a file. The layers of OSI below them meet in a loopback:
//!
//! ```
//! use kumiki_files::file_user::{self, FileClient, Operation};
//! use kumiki_files::filestore::{self, FileServer, Guard, Memory, Name};
//! use kumiki_files::ftam::{self, Ftam};
//! use kumiki_graph::loopback::{self, Loopback};
//! use kumiki_graph::{Graph, Instant};
//! use kumiki_octets::Message;
//! use kumiki_osi::{acse, presentation, session, tp0};
//! use kumiki_osi_service::ftam::{CalendarTime, contents::ContentsType};
//!
//! let mut store = Memory::new();
//! let date = CalendarTime::from_unix_seconds(800_000_000).ok_or("a date")?;
//! let content = Message::from_octets(b"Layers that interlock.");
//! store.put(&Name::parse(&"README".into())?, ContentsType::binary(), content, date);
//! let server = FileServer::new(filestore::Config::default(), Guard::new(Box::new(store)));
//! let ask = vec![Operation::Stat { name: "README".to_owned() }];
//!
//! let mut graph = Graph::new(1, 0);
//! let task = graph.add_task("cpu");
//! graph.add_node("server", task, Box::new(server))?;
//! let client = graph.add_node("client", task, Box::new(FileClient::new(file_user::Config::default(), ask)))?;
//! graph.add_node("ftam", task, Box::new(Ftam::new(ftam::Config::default())))?;
//! graph.add_node("acse", task, Box::new(acse::Acse::new(acse::Config::default())))?;
//! graph.add_node("presentation", task, Box::new(presentation::Presentation::new(presentation::Config::default())))?;
//! graph.add_node("session", task, Box::new(session::Session::new(session::Config::default())))?;
//! graph.add_node("tp0", task, Box::new(tp0::Tp0::new(tp0::Config::default())))?;
//! graph.add_node("loopback", task, Box::new(Loopback::new(loopback::Config::default())))?;
//! graph.connect("server", "ftam")?;
//! graph.connect("client", "ftam")?;
//! for layers in ["ftam", "acse", "presentation", "session", "tp0", "loopback"].windows(2) {
//!     graph.connect(layers[0], layers[1])?;
//! }
//! graph.start(Instant::ZERO)?;
//! while graph.waiting(task).is_some() {
//!     graph.run(task, Instant::ZERO, 1);
//! }
//! let client: &FileClient = graph.protocol(client).ok_or("the client")?;
//! assert!(client.plan().outcomes().iter().all(|outcome| outcome.result.is_ok()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod file_user;
pub mod filestore;
pub mod ftam;
pub mod kinds;
pub mod mms;
pub mod mms_files;
pub mod node;

#[cfg(test)]
mod test_cut;
