//! What tonic is told of a stream.
#![allow(clippy::unwrap_used, missing_docs)]

use kumiki_net::sim::Net;
use kumiki_net::{TcpListener, TcpStream};
use tonic::transport::server::Connected as _;

#[test]
fn a_service_is_told_both_addresses() {
    let told = Net::new(1).host("here").run(async {
        let listener = TcpListener::bind("127.0.0.1:80").await.unwrap();
        let caller = TcpStream::connect("127.0.0.1:80").await.unwrap();
        let (accepted, from) = listener.accept().await.unwrap();
        let info = accepted.connect_info();
        assert_eq!((info.local_addr, info.remote_addr), (caller.peer_addr().ok(), Some(from)));
    });
    told.unwrap();
}
