//! A stack in a process of its own, and two programs of tokio attached to it, each in a process of its own, too.
//!
//! ```text
//! cargo run -p kumiki-examples --example stack_of_its_own
//! ```
//!
//! It takes no rights: the stack is on no device, so programs reach each other alone. With `kumiki stack --tun` it is
//! on one, and what is here the first process is that command. The server is killed in the middle of its work; the
//! stack closes what it had, and the client hears of it as of a process that has ended.

#![cfg(target_os = "linux")]

use std::error::Error;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use kumiki_net::host::{HostConfig, HostDriver, NullDevice};
use kumiki_net::rings::{Limits, RemoteStack, StackServer};
use kumiki_net::{TcpListener, TcpStream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

type Done = Result<(), Box<dyn Error>>;

/// The process of the stack.
fn stack(path: &Path) -> Done {
    let driver = HostDriver::new(Box::new(NullDevice), &HostConfig::new(["10.9.0.1".parse()?]))?;
    println!("runs");
    Ok(StackServer::run(driver, path, 0o600, Limits::default())?)
}

/// A program that answers in capitals.
async fn serve() -> Done {
    let listener = TcpListener::bind("10.9.0.1:7").await?;
    println!("listens");
    let (mut stream, _) = listener.accept().await?;
    let mut read = [0; 64];
    loop {
        let n = stream.read(&mut read).await?;
        if n == 0 {
            return Ok(());
        }
        let answer = read.get(..n).unwrap_or_default().to_ascii_uppercase();
        stream.write_all(&answer).await?;
    }
}

/// This program once more, in another role; returns when it has said that it is ready.
fn start(role: &str, path: &Path) -> Result<Child, Box<dyn Error>> {
    let mut child = Command::new(std::env::current_exe()?).arg(role).arg(path).stdout(Stdio::piped()).spawn()?;
    let said = child.stdout.take().ok_or("no output")?;
    let mut line = String::new();
    BufReader::new(said).read_line(&mut line)?;
    println!("process {}: the {role} {}", child.id(), line.trim());
    Ok(child)
}

fn attach(path: &Path) -> std::io::Result<RemoteStack> {
    loop {
        match RemoteStack::connect(path) {
            // It has begun, and listens in a moment.
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => std::thread::yield_now(),
            attached => return attached,
        }
    }
}

async fn client(mut server: Child) -> Done {
    let mut stream = TcpStream::connect("10.9.0.1:7").await?;
    stream.write_all(b"hello").await?;
    let mut answer = [0; 5];
    stream.read_exact(&mut answer).await?;
    println!("process {}: the client reads {:?}", std::process::id(), String::from_utf8_lossy(&answer));
    server.kill()?;
    let end = stream.read(&mut answer).await?;
    println!("process {}: the server is killed, and the client reads {end} octets: the end", std::process::id());
    server.wait()?;
    Ok(())
}

fn main() -> Done {
    let arguments: Vec<String> = std::env::args().collect();
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build();
    match arguments.get(1..).unwrap_or_default() {
        [role, path] if role == "stack" => stack(path.as_ref()),
        [role, path] if role == "server" => {
            let remote = attach(path.as_ref())?;
            runtime()?.block_on(remote.stack().scope(serve()))
        }
        _ => {
            let path = std::env::temp_dir().join(format!("kumiki-stack-{}", std::process::id()));
            let mut stack = start("stack", &path)?;
            let server = start("server", &path)?;
            let remote = attach(&path)?;
            runtime()?.block_on(remote.stack().scope(client(server)))?;
            stack.kill()?;
            stack.wait()?;
            Ok(std::fs::remove_file(&path)?)
        }
    }
}
