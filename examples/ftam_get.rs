//! A file by FTAM through all layers of OSI, in memory: a client fetches it from a responder.
//!
//! ```text
//! cargo run -p kumiki-examples --example ftam_get
//! ```
//!
//! Both users stand on the same layers, which meet in a loopback below transport. For a peer on the network the
//! loopback's place is taken by RFC 1006 (`tpkt`) or X.25, as `kumiki ftam` does it.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use kumiki_files::file_user::{Config, FileClient, Operation, Sink};
use kumiki_files::filestore::{self, FileServer, Guard, Memory, Name};
use kumiki_files::ftam::{self, Ftam};
use kumiki_graph::loopback::{self, Loopback};
use kumiki_graph::{Graph, Instant, Protocol};
use kumiki_octets::Message;
use kumiki_osi::acse::{self, Acse};
use kumiki_osi::presentation::{self, Presentation};
use kumiki_osi::session::{self, Session};
use kumiki_osi::tp0::{self, Tp0};
use kumiki_osi_service::ftam::CalendarTime;
use kumiki_osi_service::ftam::contents::ContentsType;

/// Where the file goes. It is shared, because the client owns its sink.
#[derive(Clone, Default)]
struct Received(Arc<Mutex<Vec<u8>>>);

impl Sink for Received {
    fn write(&mut self, offset: u64, data: Message) -> Result<(), String> {
        let mut octets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        octets.truncate(usize::try_from(offset).map_err(|why| why.to_string())?);
        octets.extend(data.to_vec());
        Ok(())
    }

    /// Without this call the file is not all there.
    fn finish(&mut self) -> Result<(), String> {
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let name = Name::parse(&"README".into())?;
    let mut store = Memory::new();
    let content = Message::from_octets(b"Layers that interlock.");
    store.put(&name, ContentsType::binary(), content, CalendarTime::from_unix_seconds(800_000_000).ok_or("a date")?);
    let server = FileServer::new(filestore::Config::default(), Guard::new(Box::new(store)));

    let received = Received::default();
    let sink = Box::new(received.clone());
    let get = Operation::Get { name: "README".to_owned(), contents_type: None, restart_at: 0, sink };
    let client = FileClient::new(Config::default(), vec![get]);

    let mut graph = Graph::new(1, 0);
    let task = graph.add_task("cpu");
    let layers: [(&str, Box<dyn Protocol>); 6] = [
        ("ftam", Box::new(Ftam::new(ftam::Config::default()))),
        ("acse", Box::new(Acse::new(acse::Config::default()))),
        ("presentation", Box::new(Presentation::new(presentation::Config::default()))),
        ("session", Box::new(Session::new(session::Config::default()))),
        ("tp0", Box::new(Tp0::new(tp0::Config::default()))),
        ("loopback", Box::new(Loopback::new(loopback::Config::default()))),
    ];
    let mut above = None;
    for (layer, protocol) in layers {
        graph.add_node(layer, task, protocol)?;
        if let Some(above) = above.replace(layer) {
            graph.connect(above, layer)?;
        }
    }
    graph.add_node("server", task, Box::new(server))?;
    let client = graph.add_node("client", task, Box::new(client))?;
    graph.connect("server", "ftam")?;
    graph.connect("client", "ftam")?;

    // Nothing takes any time here, so the graph is run until it has nothing more to do.
    graph.start(Instant::ZERO)?;
    while graph.waiting(task).is_some() {
        graph.run(task, Instant::ZERO, 1);
    }
    let client = graph.protocol::<FileClient>(client).ok_or("the client")?;
    for outcome in client.plan().outcomes() {
        println!("{}: {:?}", outcome.title, outcome.result);
    }
    let octets = received.0.lock().unwrap_or_else(PoisonError::into_inner);
    println!("{}", String::from_utf8_lossy(&octets));
    Ok(())
}
