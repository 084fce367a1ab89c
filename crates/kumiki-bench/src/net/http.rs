//! A service of hyper and its client: HTTP/1.1, one connection for all requests, a body of 64 octets in each response.

use std::convert::Infallible;
use std::io;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, client, server};
use hyper_util::rt::TokioIo;

use super::{SIZE, Stream};

const BODY: [u8; SIZE] = [b'7'; SIZE];

async fn respond(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::new(Bytes::from_static(&BODY))))
}

/// Answers until the peer closes.
pub(super) async fn answer(stream: impl Stream) {
    // What is cut off is the end of the measurement.
    let _ = server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(respond)).await;
}

/// Calls so often, one after the other.
pub(super) async fn call(stream: impl Stream, calls: u32) -> io::Result<()> {
    let (mut sender, connection) =
        client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    tokio::spawn(connection);
    for _ in 0..calls {
        let request =
            Request::get("/").header("host", "server").body(Full::<Bytes>::default()).map_err(io::Error::other)?;
        let response = sender.send_request(request).await.map_err(io::Error::other)?;
        let body = response.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
        if body != BODY[..] {
            return Err(io::Error::other("a response has another body"));
        }
    }
    Ok(())
}
