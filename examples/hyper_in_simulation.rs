//! A service of hyper and its client in a simulation: two hosts, a line that loses packets, and a partition in the
//! middle.
//!
//! ```text
//! cargo run -p kumiki-examples --example hyper_in_simulation
//! ```
//!
//! Server and client are what they would be over `tokio::net`; the sockets come from `kumiki_net`. Every run prints the
//! same times.

use std::convert::Infallible;
use std::error::Error;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, client, server};
use hyper_util::rt::TokioIo;
use kumiki_net::sim::{self, Link, Net};
use kumiki_net::{TcpListener, TcpStream};

async fn hello(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::from(format!("hello from {}", request.uri().path()))))
}

/// The service, as over `tokio::net` but for where the types are from.
async fn serve() {
    let Ok(listener) = TcpListener::bind("0.0.0.0:80").await else {
        return;
    };
    while let Ok((stream, _)) = listener.accept().await {
        sim::spawn(server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(hello)));
    }
}

/// The client: one request, and its answer.
async fn get(path: &str) -> Result<String, Box<dyn Error>> {
    let stream = TcpStream::connect("server:80").await?;
    let (mut sender, connection) = client::conn::http1::handshake(TokioIo::new(stream)).await?;
    sim::spawn(connection);
    let request = Request::get(path).header("host", "server").body(Full::<Bytes>::default())?;
    let body = sender.send_request(request).await?.into_body().collect().await?;
    Ok(String::from_utf8_lossy(&body.to_bytes()).into_owned())
}

fn main() -> Result<(), Box<dyn Error>> {
    let net = Net::new(42); // the seed
    net.set_link(&Link::new().rate(10_000_000).delay(Duration::from_millis(10)).loss(0.02));
    let server = net.host("server");
    server.start(serve);
    let client = net.host("client");
    let (network, here) = (net.clone(), client.clone());
    client.run(async move {
        for number in 0..5 {
            let answer = get(&format!("/{number}")).await?;
            println!("{:>12?} {answer}", sim::time::elapsed());
        }
        println!("{:>12?} the network breaks, for three seconds", sim::time::elapsed());
        network.partition(std::slice::from_ref(&server), std::slice::from_ref(&here));
        sim::spawn(async move {
            tokio::time::sleep(Duration::from_secs(3)).await;
            network.repair_all();
        });
        let answer = get("/after").await?;
        println!("{:>12?} {answer}", sim::time::elapsed());
        Ok(())
    })?
}
