//! Streams for tonic's `Server::serve_with_incoming`: a service is told both addresses (`Request::remote_addr`), as
//! over tokio's streams.

use tonic::transport::server::{Connected, TcpConnectInfo};

use crate::TcpStream;

impl Connected for TcpStream {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> TcpConnectInfo {
        TcpConnectInfo { local_addr: self.local_addr().ok(), remote_addr: self.peer_addr().ok() }
    }
}
