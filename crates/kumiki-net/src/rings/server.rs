//! The side of the process that runs the stack.

use core::future::poll_fn;
use core::task::{Context, Poll};
use core::time::Duration;
use std::collections::VecDeque;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::Arc;

use kumiki_graph::Handle;
use kumiki_io::shared::ring::{MOST_OCTETS, Record};
use kumiki_io::shared::{Receiver, Region, Sender, handover};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::{JoinHandle, JoinSet};

use super::hello::{Hello, refusal};
use super::primitives::{Answer, Command, Fields, Response};
use super::{responses_at, words};
use crate::Stack;
use crate::host::HostDriver;
use crate::sockets::{CommandError, Lookup, Share};

/// So many commands of a program are done before another has a turn.
const BATCH: usize = 64;

/// And with so many octets.
const BATCH_OCTETS: usize = 512 * 1024;

/// How long nobody is taken after the process could not take somebody: it may have too many descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// The longest name that can be asked for, in octets (RFC 1035 section 2.3.4).
const MOST_NAME: usize = 255;

/// What programs may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Programs at one time: 64. One more is refused (`ConnectionRefused`).
    pub programs: usize,
    /// Sockets of each, and addresses that it has taken: 1024. Beyond that it is told that there are no buffers
    /// (`ENOBUFS`).
    pub sockets: usize,
    /// Octets of shared memory of each for each of its two rings: 1 MiB; at least 512 KiB, and the next power of two.
    pub ring: usize,
    /// What may wait for each outside its rings, in octets: 16 MiB. It is needed where a program does not run: more
    /// data then resets the connection that it is of, and more datagrams are lost.
    pub memory: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { programs: 64, sockets: 1024, ring: 1 << 20, memory: 16 << 20 }
    }
}

impl Limits {
    /// Words for records in a ring: room for two records of the longest.
    fn capacity(&self) -> usize {
        self.ring.clamp(2 * MOST_OCTETS, 1 << 30).next_power_of_two() / size_of::<u64>()
    }
}

/// Gives programs of other processes the sockets of a stack: see the [module](super).
#[derive(Debug)]
pub struct StackServer {
    stack: Stack,
    limits: Limits,
}

impl StackServer {
    /// One for the sockets of `stack`.
    #[must_use]
    pub fn new(stack: &Stack, limits: Limits) -> Self {
        Self { stack: stack.clone(), limits }
    }

    /// Runs a host in this thread, and takes those who come to a Unix socket that is made at `path`, with these rights
    /// (as `chmod` has them: whoever may write to it may use the stack). One that a stack has left there that has ended
    /// is replaced.
    ///
    /// # Errors
    /// Those of `bind(2)`: `AddrInUse` where a stack runs there; those of the host's devices. It ends with none else.
    pub fn run(driver: HostDriver, path: &Path, rights: u32, limits: Limits) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let listener = kumiki_io::line::listen_at(path)?;
            std::fs::set_permissions(path, Permissions::from_mode(rights))?;
            let listener = UnixListener::from_std(listener)?;
            let server = Self::new(driver.stack(), limits);
            let (mut drives, mut serves) = (pin!(driver.drive()), pin!(server.serve(listener)));
            poll_fn(|cx| match drives.as_mut().poll(cx) {
                Poll::Pending => serves.as_mut().poll(cx),
                ended => ended,
            })
            .await
        })
    }

    /// Takes those who come to `listener`, and passes on what they ask, until it is dropped: then they all are cut off.
    ///
    /// # Errors
    /// Those of the runtime, as where it has no I/O; `Unsupported` where the host has several
    /// [queues](crate::host::HostConfig::queues). What goes wrong with one program ends that alone, and where the
    /// process can take no more for want of descriptors or memory, those who come wait.
    ///
    /// # Panics
    /// Where the runtime has no time, as tokio's own timers do.
    pub async fn serve(&self, listener: UnixListener) -> io::Result<()> {
        if !self.stack.others().is_empty() {
            let why = "a host with several queues, and programs of other processes have the sockets of one; expected `HostConfig::queues` to be 1";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        let mut programs = JoinSet::new();
        loop {
            let accepted = poll_fn(|cx| {
                while let Poll::Ready(Some(_)) = programs.poll_join_next(cx) {}
                listener.poll_accept(cx)
            });
            match accepted.await {
                Ok((socket, _)) => {
                    if let Ok(Some(mut program)) = self.greet(socket) {
                        programs.spawn(async move { poll_fn(|cx| program.poll(cx)).await });
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    /// Attaches who has come, or says why not.
    fn greet(&self, socket: UnixStream) -> io::Result<Option<Attachment>> {
        let capacity = self.limits.capacity();
        let Limits { programs: most, sockets, memory, .. } = self.limits;
        let (attached, hello) = self.stack.0.with(|table| {
            let is_full = table.guest_counts().0 >= most;
            let program = (!is_full && !table.is_down).then(|| table.attach(Share { sockets, memory }));
            (program, table.hello(capacity, sockets))
        });
        let Some(program) = attached else {
            let why = format!("{most} programs are attached already, which is the limit");
            handover::send(&socket, &[&refusal(&why)], None)?;
            return Ok(None);
        };
        let attached = self.share(socket, program, &hello);
        if attached.is_err() {
            self.stack.0.with(|table| table.detach(program));
        }
        attached.map(Some)
    }

    fn share(&self, socket: UnixStream, program: Handle, hello: &Hello) -> io::Result<Attachment> {
        let region = Arc::new(Region::create(words(hello.capacity))?);
        let octets = hello.octets();
        let sent = handover::send(&socket, &[&octets], Some(std::os::fd::AsFd::as_fd(&*region)))?;
        if sent < octets.len() {
            return Err(io::ErrorKind::WriteZero.into());
        }
        Ok(Attachment {
            stack: self.stack.clone(),
            program,
            commands: Receiver::new(Arc::clone(&region), 0, hello.capacity),
            responses: Sender::new(region, responses_at(hello.capacity), hello.capacity),
            socket,
            pending: VecDeque::new(),
            lookup: None,
            is_gone: false,
        })
    }
}

/// A program, as the stack's process has it. When it is dropped, the program's sockets are closed.
#[derive(Debug)]
struct Attachment {
    stack: Stack,
    program: Handle,
    commands: Receiver<Region>,
    responses: Sender<Region>,
    socket: UnixStream,
    /// What is next to go into the ring.
    pending: VecDeque<Response>,
    /// A name that is being looked up: no more is heard until that is done.
    lookup: Option<(u64, JoinHandle<Answer>)>,
    /// The program has ended.
    is_gone: bool,
}

impl Drop for Attachment {
    fn drop(&mut self) {
        self.stack.0.with(|table| table.detach(self.program));
    }
}

/// Why a program is not attached any more.
#[derive(Debug, thiserror::Error)]
enum DetachReason {
    #[error("it has gone")]
    Gone,
    #[error(transparent)]
    Broken(#[from] kumiki_io::shared::Broken),
    #[error(transparent)]
    Wrong(#[from] CommandError),
    #[error(transparent)]
    System(#[from] io::Error),
}

/// What hearing a program has come to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ServeProgress {
    /// There is nothing more.
    All,
    /// There may be more.
    Enough,
    /// It is heard again when something else has been done.
    NotNow,
}

impl Attachment {
    /// Passes on what there is; over when the program has gone or is broken.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let turn = if self.is_gone { self.last_turn(cx) } else { self.turn(cx) };
        match turn {
            Ok(false) => Poll::Pending,
            Ok(true) => {
                // Others first.
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Err(DetachReason::Gone) if !self.is_gone => {
                self.is_gone = true;
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Err(DetachReason::Gone | DetachReason::Broken(_) | DetachReason::Wrong(_) | DetachReason::System(_)) => {
                Poll::Ready(())
            }
        }
    }

    /// As [`Self::turn`], when the program has gone: what it has asked before, it has asked, but answers are nobody's
    /// any more.
    fn last_turn(&mut self, cx: &mut Context<'_>) -> Result<bool, DetachReason> {
        self.lookup = None;
        let program = self.program;
        let is_down = self.stack.0.with(|table| {
            while table.next_response(program).is_some() {}
            table.is_down
        });
        match self.hear(cx)? {
            ServeProgress::All => Err(DetachReason::Gone),
            ServeProgress::Enough => Ok(true),
            ServeProgress::NotNow if is_down => Err(DetachReason::Gone),
            ServeProgress::NotNow => Ok(self.lookup.is_some()),
        }
    }

    /// Says whether there is more to do at once.
    fn turn(&mut self, cx: &mut Context<'_>) -> Result<bool, DetachReason> {
        let more = self.drain(cx)?;
        let heard = self.hear(cx)?;
        let is_told = self.tell(cx)?;
        if more || heard == ServeProgress::Enough || !is_told {
            return Ok(true);
        }
        // What is heard when something else has been done is not waited for here.
        Ok(heard == ServeProgress::All && !self.commands.sleep()?)
    }

    /// Takes what has woken us, not without end; true: there may be more.
    fn drain(&self, cx: &mut Context<'_>) -> Result<bool, DetachReason> {
        let mut octets = [0; 64];
        while self.socket.poll_read_ready(cx)?.is_ready() {
            match self.socket.try_read(&mut octets) {
                Ok(0) => return Err(DetachReason::Gone),
                Ok(n) if n == octets.len() => return Ok(true),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Err(DetachReason::Gone),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(false)
    }

    /// Does what the program asks.
    fn hear(&mut self, cx: &mut Context<'_>) -> Result<ServeProgress, DetachReason> {
        if !self.looked_up(cx) {
            return Ok(ServeProgress::NotNow);
        }
        let (stack, program) = (self.stack.clone(), self.program);
        let heard = stack.0.with(|table| {
            let mut octets = 0;
            for _ in 0..BATCH {
                if octets >= BATCH_OCTETS {
                    break;
                }
                if !table.may_be_heard(program, cx.waker()) {
                    return Ok(ServeProgress::NotNow);
                }
                let Some(record) = self.commands.receive()? else {
                    return Ok(ServeProgress::All);
                };
                octets += record.data.len();
                let command = Command::of(record).ok_or(CommandError("an unknown command"))?;
                if let Some(lookup) = table.command(program, command)? {
                    self.look_up(&lookup);
                    break;
                }
            }
            Ok::<_, DetachReason>(ServeProgress::Enough)
        })?;
        if self.commands.must_ring() {
            self.ring()?;
        }
        Ok(heard)
    }

    fn look_up(&mut self, lookup: &Lookup) {
        let octets = lookup.name.share(0, lookup.name.len().min(MOST_NAME)).map(|it| it.to_vec()).unwrap_or_default();
        let is_long = lookup.name.len() > MOST_NAME;
        let stack = self.stack.clone();
        let found = move || {
            let name = String::from_utf8(octets).ok().filter(|_| !is_long);
            let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "no name of a host");
            name.ok_or_else(wrong)
                .and_then(|name| stack.lookup(&name))
                .map_or_else(|error| Answer::refused(&error), Answer::Found)
        };
        // Whoever looks up names may block: see `HostConfig::resolver`.
        self.lookup = Some((lookup.question, tokio::task::spawn_blocking(found)));
    }

    /// Whether no name is being looked up.
    fn looked_up(&mut self, cx: &mut Context<'_>) -> bool {
        let Some((question, found)) = &mut self.lookup else {
            return true;
        };
        let (question, found) = (
            *question,
            match Pin::new(found).poll(cx) {
                Poll::Pending => return false,
                Poll::Ready(found) => found,
            },
        );
        let answer = found.unwrap_or_else(|failed| Answer::refused(&io::Error::other(failed)));
        self.lookup = None;
        self.stack.0.with(|table| table.answer_guest(self.program, question, answer));
        true
    }

    /// Puts what the program is to hear into its ring, as far as there is room; false: there may be more.
    fn tell(&mut self, cx: &mut Context<'_>) -> Result<bool, DetachReason> {
        let mut has_told = false;
        let mut is_full = false;
        if self.pending.is_empty() {
            let program = self.program;
            let is_up = self.stack.0.with(|table| {
                let next = core::iter::from_fn(|| table.next_response(program));
                self.pending.extend(next.take(BATCH));
                table.wait_to_tell(program, cx.waker())
            });
            if !is_up {
                return Err(DetachReason::Gone);
            }
        }
        while let Some(response) = self.pending.front() {
            let mut fields = Fields::new();
            let (kind, data) = response.put(&mut fields);
            let record = Record { kind, fields: &fields, data };
            let is_sent =
                self.responses.send(&record)? || (self.responses.wait(&record)? && self.responses.send(&record)?);
            if !is_sent {
                is_full = true;
                break;
            }
            has_told = true;
            self.pending.pop_front();
        }
        if has_told && self.responses.must_ring() {
            self.ring()?;
        }
        // Where it is full the program wakes us.
        Ok(is_full || !has_told)
    }

    fn ring(&self) -> Result<(), DetachReason> {
        match self.socket.try_write(&[0]) {
            Ok(_) => Ok(()),
            // What is there wakes it.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(_) => Err(DetachReason::Gone),
        }
    }
}
