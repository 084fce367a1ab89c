//! Sockets of programs, as over any stack.

use kumiki_net::rings::Limits;
use kumiki_net::{TcpListener, TcpStream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::bench::{Server, run};

#[test]
fn two_programs_talk_through_the_stack_of_a_third() {
    let server = Server::start("talk", Limits::default());
    let (one, other) = (server.connect(), server.connect());
    run(async {
        let listener = one.stack().scope(TcpListener::bind("10.9.0.1:80")).await.unwrap();
        let accepted = listener.accept();
        let called = other.stack().scope(TcpStream::connect("self:80"));
        let (accepted, called) = tokio::join!(accepted, called);
        let ((mut accepted, peer), mut called) = (accepted.unwrap(), called.unwrap());
        assert_eq!(peer, called.local_addr().unwrap());
        assert_eq!(called.peer_addr().unwrap(), accepted.local_addr().unwrap());
        called.write_all(b"hello").await.unwrap();
        called.shutdown().await.unwrap();
        let mut read = String::new();
        accepted.read_to_string(&mut read).await.unwrap();
        assert_eq!(read, "hello");
        accepted.write_all(b"and back").await.unwrap();
        drop(accepted);
        read.clear();
        called.read_to_string(&mut read).await.unwrap();
        assert_eq!(read, "and back");
    });
}
