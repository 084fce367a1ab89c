//! A service on hosts that crash and a network that breaks, with many seeds: each seed is the same again, on however
//! many threads.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::hash::Hasher as _;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use kumiki_net::sim::{self, Host, Link, Net, Rng};
use kumiki_net::{TcpListener, TcpStream};
use siphasher::sip::SipHasher13;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

const MS: Duration = Duration::from_millis(1);

const SERVERS: [&str; 3] = ["one", "two", "three"];
const CLIENTS: [&str; 4] = ["ann", "bob", "cat", "dan"];

/// So many calls each client makes, and so often something goes wrong meanwhile.
const CALLS: u32 = 20;
const FAULTS: u32 = 12;

/// What a server has done, as a disk keeps it: the argument of each call, by client and number.
type Disk = Rc<RefCell<BTreeMap<(u32, u32), u64>>>;

/// A client's number, and how many of its calls were answered, as its disk keeps that; with the disks of all servers.
struct Client {
    number: u32,
    answered: Cell<u32>,
    disks: [Disk; 3],
}

fn below(rng: &mut Rng, most: u64) -> u64 {
    rng.next_u64() % most
}

/// Takes calls: a client, a number, an argument, 16 octets in all; answers with the argument and one more.
async fn serve(disk: Disk) -> io::Result<()> {
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let disk = Rc::clone(&disk);
        sim::spawn(async move {
            // Whoever calls goes away, or its host does.
            let _ = answer(stream, disk).await;
        });
    }
}

async fn answer(mut stream: TcpStream, disk: Disk) -> io::Result<()> {
    stream.set_nodelay(true)?;
    loop {
        let key = (stream.read_u32().await?, stream.read_u32().await?);
        let argument = stream.read_u64().await?;
        let before = disk.borrow_mut().insert(key, argument);
        assert!(before.is_none_or(|it| it == argument), "{key:?}: {argument}, and {before:?} before");
        // Longer than a segment: what is answered is cut somewhere by what goes wrong.
        let mut all = vec![0; 4000];
        all[..8].copy_from_slice(&(argument + 1).to_be_bytes());
        stream.write_all(&all).await?;
    }
}

async fn ask(stream: &mut TcpStream, client: u32, call: u32, argument: u64) -> io::Result<u64> {
    let mut octets = [client.to_be_bytes(), call.to_be_bytes()].concat();
    octets.extend(argument.to_be_bytes());
    stream.write_all(&octets).await?;
    let answer = stream.read_u64().await?;
    stream.read_exact(&mut [0; 3992]).await?;
    Ok(answer)
}

/// Makes its calls, one after the other, each until somebody has answered.
async fn call(me: Rc<Client>) {
    let net = Net::current().unwrap();
    // After a crash it draws what it drew before: that is its program.
    let mut rng = net.rng(CLIENTS[me.number as usize]);
    let mut open: Option<(usize, TcpStream)> = None;
    while me.answered.get() < CALLS {
        let call = me.answered.get();
        let argument = u64::from(me.number) * 1000 + u64::from(call);
        let (server, mut stream) = match open.take() {
            Some(open) => open,
            None => {
                let server = usize::try_from(below(&mut rng, 3)).unwrap();
                match timeout(300 * MS, TcpStream::connect((SERVERS[server], 80))).await {
                    Ok(Ok(stream)) => (server, stream),
                    Ok(Err(_)) | Err(_) => {
                        sim::time::sleep(Duration::from_micros(below(&mut rng, 20_000))).await;
                        continue;
                    }
                }
            }
        };
        if let Ok(Ok(answer)) = timeout(500 * MS, ask(&mut stream, me.number, call, argument)).await {
            assert_eq!(answer, argument + 1);
            assert_eq!(me.disks[server].borrow().get(&(me.number, call)), Some(&argument), "what was answered is done");
            me.answered.set(call + 1);
            open = Some((server, stream));
            sim::time::sleep(Duration::from_micros(below(&mut rng, 5_000))).await;
        }
    }
}

/// Something goes wrong, or is mended.
fn happen(net: &Net, hosts: &[Host], rng: &mut Rng) {
    let mut any = || &hosts[usize::try_from(below(rng, hosts.len() as u64)).unwrap()];
    let (one, other) = (any(), any());
    let bad = Link::new().rate(2_000_000).delay(5 * MS).loss(0.1).reorder(0.1).queue(20_000);
    let millionths = i32::try_from(below(rng, 2000)).unwrap() - 1000;
    match below(rng, 11) {
        0 | 1 => _ = one.crash(),
        2 | 3 => _ = one.restart(),
        4 => _ = net.partition(one, other),
        5 => _ = net.cut_one_way(one, other),
        6 => _ = one.isolate(),
        7 => _ = one.set_link(&bad),
        8 => _ = one.set_black_hole(Some(1000)),
        9 => _ = one.set_clock_rate(millionths),
        _ => mend(net, hosts),
    }
}

fn mend(net: &Net, hosts: &[Host]) {
    net.repair_all();
    for host in hosts {
        host.set_link(&Link::new()).set_black_hole(None);
        if host.is_down() {
            host.restart();
        }
    }
}

/// A number of all that happened with this seed.
fn run(seed: u64) -> u64 {
    let net = Net::new(seed);
    net.set_time_limit(Duration::from_secs(3600));
    net.set_link(&Link::new().delay(MS).jitter(MS).loss(0.01).duplicate(0.01));
    let disks: [Disk; 3] = Default::default();
    for (name, disk) in SERVERS.into_iter().zip(&disks) {
        let disk = Rc::clone(disk);
        net.host(name).start(move || serve(Rc::clone(&disk)));
    }
    let clients: Vec<Rc<Client>> =
        (0..4).map(|number| Rc::new(Client { number, answered: Cell::new(0), disks: disks.clone() })).collect();
    for (name, client) in CLIENTS.into_iter().zip(&clients) {
        let client = Rc::clone(client);
        net.host(name).start(move || call(Rc::clone(&client)));
    }
    let (hosts, mut rng) = (net.hosts(), net.rng("faults"));
    let ended = net.run(async {
        for _ in 0..FAULTS {
            sim::time::sleep(Duration::from_micros(below(&mut rng, 200_000))).await;
            happen(&Net::current().unwrap(), &hosts, &mut rng);
        }
        mend(&Net::current().unwrap(), &hosts);
        while clients.iter().any(|it| it.answered.get() < CALLS) {
            sim::time::sleep(10 * MS).await;
        }
    });
    assert_eq!(ended, Ok(()), "seed {seed}");
    let mut hash = SipHasher13::new();
    hash.write_u64(net.digest());
    hash.write_u128(net.elapsed().as_nanos());
    for disk in &disks {
        for ((client, call), _) in disk.borrow().iter() {
            hash.write_u32(*client);
            hash.write_u32(*call);
        }
    }
    hash.finish()
}

/// One number for so many seeds, run by so many threads.
fn all(seeds: u64, threads: u32) -> u64 {
    let mut by_seed = BTreeMap::new();
    std::thread::scope(|scope| {
        let part = |first: u32| {
            let own = (u64::from(first)..seeds).step_by(threads as usize);
            move || own.map(|seed| (seed, run(seed))).collect::<Vec<_>>()
        };
        let parts: Vec<_> = (0..threads).map(|first| scope.spawn(part(first))).collect();
        by_seed.extend(parts.into_iter().flat_map(|it| it.join().unwrap()));
    });
    let mut hash = SipHasher13::new();
    by_seed.values().for_each(|it| hash.write_u64(*it));
    hash.finish()
}

/// Twice by one thread, once by two.
fn repeats(seeds: u64) {
    let hashes = [all(seeds, 1), all(seeds, 1), all(seeds, 2)];
    println!("{seeds} seeds: by one thread {:016x}, again {:016x}, by two {:016x}", hashes[0], hashes[1], hashes[2]);
    assert!(hashes.iter().all(|it| *it == hashes[0]), "{hashes:x?}");
}

#[test]
fn a_service_on_hosts_that_crash_is_the_same_again_with_each_seed() {
    repeats(100);
}

#[test]
#[ignore = "some minutes; `cargo test -p kumiki-net --test sim -- repeat --ignored --nocapture`"]
fn ten_thousand_seeds_are_the_same_again() {
    repeats(10_000);
}
