//! An axum service in a simulation: its own `axum::serve`, over sockets of `kumiki_net`.
//!
//! ```text
//! cargo run -p kumiki-examples --example axum_in_simulation
//! ```
//!
//! `axum::serve` takes any listener that implements its trait `Listener`: ten lines. Its tasks are started by
//! `tokio::spawn`, which is enough for sockets that exist; a task that is to make sockets of its own is started by
//! `sim::spawn`.

use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use axum::extract::Path;
use axum::routing::get;
use axum::{Json, Router};
use kumiki_net::sim::{self, Net};
use kumiki_net::{TcpListener, TcpStream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// A listener of `kumiki_net`, for axum.
struct Listener(TcpListener);

impl axum::serve::Listener for Listener {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        loop {
            match self.0.accept().await {
                Ok(accepted) => return accepted,
                // The host is gone, and this task will be soon.
                Err(_) => tokio::time::sleep(Duration::from_secs(1)).await,
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

async fn serve() {
    let square = |Path(n): Path<u64>| async move { Json(serde_json::json!({ "n": n, "square": n * n })) };
    let service = Router::new().route("/square/{n}", get(square));
    if let Ok(listener) = TcpListener::bind("0.0.0.0:8080").await {
        let _ = axum::serve(Listener(listener), service).await;
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let net = Net::new(1);
    net.set_latency(Duration::from_millis(25));
    net.host("server").start(serve);
    net.host("client").run(async {
        let mut stream = TcpStream::connect("server:8080").await?;
        stream.write_all(b"GET /square/12 HTTP/1.1\r\nHost: server\r\nConnection: close\r\n\r\n").await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        let body = answer.lines().last().unwrap_or_default();
        println!("{body}, after {:?} and so two round trips", sim::time::elapsed());
        Ok(())
    })?
}
