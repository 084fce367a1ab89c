//! gRPC in a simulation: a service of tonic and its client, and what becomes of a call when the server crashes.
//!
//! ```text
//! cargo run -p kumiki-examples --example tonic_in_simulation
//! ```
//!
//! The client takes its connections from a connector, and makes new ones in a task that tonic starts: so the connector
//! says whose sockets it means. `kumiki_net`'s feature `tonic` makes its streams such as tonic's server takes. The
//! service is written by hand here, where protoc would write it.
//!
//! hyper puts the machine's date into answers, compressed, so that now and then one is an octet longer. Here no line
//! has a rate, and times do not show it.

use std::convert::Infallible;
use std::error::Error;
use std::time::Duration;

use futures_util::stream;
use hyper_util::rt::TokioIo;
use kumiki_net::sim::{self, Net};
use kumiki_net::{Stack, TcpListener, TcpStream};
use tonic::transport::{Endpoint, Server};
use tonic::{Request, Response, Status, body::Body, client, server};
use tonic_prost::ProstCodec;
use tower::service_fn;

#[derive(Clone, PartialEq, prost::Message)]
struct Number {
    #[prost(uint64, tag = "1")]
    value: u64,
}

async fn square(request: Request<Number>) -> Result<Response<Number>, Status> {
    let n = request.into_inner().value;
    let value = n.checked_mul(n).ok_or_else(|| Status::out_of_range("too big"))?;
    Ok(Response::new(Number { value }))
}

/// The method `kumiki.Numbers/Square`, and the answer to whoever asks for another.
async fn answer(request: http::Request<Body>) -> Result<http::Response<Body>, Infallible> {
    Ok(match request.uri().path() {
        "/kumiki.Numbers/Square" => server::Grpc::new(ProstCodec::default()).unary(service_fn(square), request).await,
        other => Status::unimplemented(other).into_http(),
    })
}

async fn serve() -> Result<(), Box<dyn Error>> {
    let accepted = stream::try_unfold(TcpListener::bind("0.0.0.0:50051").await?, async |listener| {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        std::io::Result::Ok(Some((stream, listener)))
    });
    Ok(Server::builder().serve_with_incoming(service_fn(answer), accepted).await?)
}

async fn connect() -> std::io::Result<TokioIo<TcpStream>> {
    let stream = TcpStream::connect("server:50051").await?;
    stream.set_nodelay(true)?;
    Ok(TokioIo::new(stream))
}

async fn client() -> Result<(), Box<dyn Error>> {
    let stack = Stack::current()?;
    let connector = service_fn(move |_| stack.scope(connect()));
    let endpoint = Endpoint::from_static("http://server:50051").timeout(Duration::from_secs(2));
    let mut client = client::Grpc::new(endpoint.connect_with_connector(connector).await?);
    println!("{:>12?} connected", sim::time::elapsed());
    let server = Net::current().and_then(|net| net.find("server")).ok_or("no server")?;
    for value in [12, u64::MAX, 13, 14, 15] {
        match value {
            13 => _ = server.crash(),
            14 => _ = server.restart(),
            _ => {}
        }
        client.ready().await?;
        let path = http::uri::PathAndQuery::from_static("/kumiki.Numbers/Square");
        let answer = client.unary(Request::new(Number { value }), path, ProstCodec::<Number, Number>::default()).await;
        let answer = answer
            .map_or_else(|why| format!("{:?}: {}", why.code(), why.message()), |it| it.into_inner().value.to_string());
        println!("{:>12?} the square of {value}: {answer}", sim::time::elapsed());
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let net = Net::new(1); // the seed
    net.set_latency(Duration::from_millis(25));
    net.host("server").start(serve);
    net.host("client").run(client())?
}
