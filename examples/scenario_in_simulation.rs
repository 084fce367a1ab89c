//! A tokio client and server at two hosts of a scenario (`office.toml`): behind routers and a slow line, which breaks,
//! and beside somebody's uploads.
//!
//! ```text
//! cargo run -p kumiki-examples --example scenario_in_simulation
//! ```
//!
//! Every run prints the same times.

use kumiki_net::{TcpListener, TcpStream, sim};
use kumiki_testbed::Testbed;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

async fn serve() -> std::io::Result<()> {
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    loop {
        let (mut stream, _) = listener.accept().await?;
        sim::spawn(
            async move { while stream.read_u8().await.is_ok() && stream.write_all(&[7; 100_000]).await.is_ok() {} },
        );
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let net = Testbed::parse(include_str!("office.toml"))?.at(["client", "server"]).net(42)?; // the seed
    net.host("server").start(serve);
    net.host("client").run(async {
        let mut stream = TcpStream::connect("server:80").await?;
        while sim::time::elapsed().as_secs() < 8 {
            let begun = sim::time::elapsed();
            stream.write_u8(0).await?;
            stream.read_exact(&mut [0; 100_000]).await?;
            println!("{begun:>12.3?}: 100 kB in {:.0?}", sim::time::elapsed() - begun);
            sim::time::sleep(std::time::Duration::from_millis(500)).await;
        }
        std::io::Result::Ok(())
    })??;
    Ok(())
}
