//! The loop between a world and the hosts of it that are real: what they have sent goes in, what has come to them goes
//! out, at the times of the world.
//!
//! | | |
//! |---|---|
//! | Pass | what has come from each host, a batch at most; what is due in the world; what has come to each host |
//! | Time | what a host has sent is in the world from when it is read; what comes to it is late by what the thread runs later than the world says |
//! | Too slow | a world in which more happens than there is time for falls behind the clock: a pass takes [`STRETCH`] at most, and the rest waits for the next one |
//! | Wait | in one `poll` for all devices, the bell and the next event of the world |
//! | Super-segments | are cut first: a line of the world carries packets |
//! | Commands | of the schedule at their times in the world, of others when they come |
//! | A device that fails | is told of and let go; what is for its host is lost from then on, and the others go on |

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::Receiver;

use kumiki_delay::statistics::Times;
use kumiki_delay::{CommandRequest, CommandSender};
use kumiki_graph::{Address, Duration, Instant};
use kumiki_io::{Arrival, Bell, Clock, Descriptors, RealDevice, Sent, Watch};
use kumiki_lab::experiment::{LeftPacket, LiveWorld};
use kumiki_link::offload;

use super::lines::{LiveCommand, lines_help};
use super::scene::Scene;
use super::told;

/// The most units that are read from one host before what is due leaves.
const BATCH: usize = 32;

/// So many packets may wait for room in a device, as in the transmit queue of a network interface of Linux; more are
/// dropped and counted.
const QUEUE: usize = 1000;

/// How long a pass may let things happen in the world: then somebody may want it to end, and hosts have sent something.
const STRETCH: Duration = Duration::from_millis(10);

/// How long nothing may happen until the world is looked at all the same.
const LOOK: Duration = Duration::from_secs(1);

/// What has crossed between the world and one real host.
#[derive(Clone, Debug, Default)]
pub(super) struct HostTraffic {
    /// Packets that the host has sent.
    pub(super) sent: u64,
    /// Packets that it has got.
    pub(super) got: u64,
    /// Packets for it that found no room, or that its kernel did not take.
    pub(super) lost: u64,
    /// How much later than the world says it got them.
    pub(super) late: Times,
}

/// A host's device.
struct End {
    /// `None` once it has failed.
    device: Option<Box<dyn RealDevice>>,
    waiting: VecDeque<LeftPacket>,
    is_full: bool,
    crossed: HostTraffic,
}

/// The loop; see the module.
pub(super) struct Engine<C> {
    clock: C,
    bell: Bell,
    scene: Scene,
    ends: Vec<End>,
    commands: Receiver<CommandRequest<LiveCommand>>,
    asking: CommandSender<LiveCommand>,
    /// Takes what is to be said on the way.
    say: Box<dyn Fn(&str) + Send>,
}

impl<C: Clock> Engine<C> {
    /// Between the world of `scene` and a device for each of its real hosts, in their order. The world begins when the
    /// clock does. What is to be said on the way is said by `say`.
    ///
    /// # Errors
    /// Where the process may have no more descriptors.
    pub(super) fn new(
        clock: C,
        scene: Scene,
        devices: Vec<Box<dyn RealDevice>>,
        say: impl Fn(&str) + Send + 'static,
    ) -> io::Result<Self> {
        let bell = Bell::default();
        bell.open()?;
        let (asking, commands) = CommandSender::new(bell.clone(), LiveCommand::parse);
        let end = |device| End {
            device: Some(device),
            waiting: VecDeque::new(),
            is_full: false,
            crossed: HostTraffic::default(),
        };
        let ends = devices.into_iter().map(end).collect();
        Ok(Self { clock, bell, scene, ends, commands, asking, say: Box::new(say) })
    }

    /// Ringing it ends a wait.
    pub(super) fn bell(&self) -> Bell {
        self.bell.clone()
    }

    /// By which other threads have commands carried out.
    pub(super) fn asking(&self) -> CommandSender<LiveCommand> {
        self.asking.clone()
    }

    /// The world.
    pub(super) const fn world(&self) -> &LiveWorld {
        &self.scene.world
    }

    /// What has crossed, by host.
    pub(super) fn crossed(&self) -> impl Iterator<Item = &HostTraffic> {
        self.ends.iter().map(|end| &end.crossed)
    }

    /// Runs until `wish` says so, `quit` comes, or time stands still in the world; true where it was `quit`.
    pub(super) fn run(&mut self, wish: impl Fn() -> bool) -> bool {
        loop {
            let more = self.pass();
            if self.obey() {
                return true;
            }
            if wish() || self.scene.world.standstill().is_some() {
                return false;
            }
            if !more {
                self.wait();
            }
        }
    }

    /// Does what is due, once; true where more may be there to be read.
    fn pass(&mut self) -> bool {
        let mut more = false;
        let mut most = STRETCH;
        for host in 0..self.ends.len() {
            let read = self.read(host, &mut most);
            more |= self.look(host, read).unwrap_or_default();
        }
        self.scene.move_on(&self.clock, &mut most);
        while let Some(left) = self.scene.world.take_left() {
            if let Some(end) = self.ends.get_mut(left.host) {
                end.keep(left);
            }
        }
        for host in 0..self.ends.len() {
            let written = self.ends.get_mut(host).map_or(Ok(()), |end| end.write(&self.clock));
            let _ = self.look(host, written);
        }
        more
    }

    /// Lets the device of `host` go where it has failed.
    fn look<T>(&mut self, host: usize, done: io::Result<T>) -> Option<T> {
        let why = match done {
            Ok(done) => return Some(done),
            Err(why) => why,
        };
        if let Some(end) = self.ends.get_mut(host) {
            end.device = None;
            end.crossed.lost += u64::try_from(end.waiting.len()).unwrap_or(u64::MAX);
            end.waiting.clear();
        }
        let name = self.scene.world.real().get(host).map_or("", |it| it.name.as_str());
        (self.say)(&format!("host {name} has no network any more, and the others go on without it: {why}"));
        None
    }

    /// Carries out what is asked for; true where it is to end.
    fn obey(&mut self) -> bool {
        let mut quit = false;
        while let Some(command) = self.scene.take_due() {
            quit |= command == LiveCommand::Quit;
            match self.carry_out(command, false) {
                Ok(said) if said.is_empty() => {}
                Ok(said) => (self.say)(said.trim_end()),
                Err(why) => (self.say)(&why),
            }
        }
        while let Ok(CommandRequest { command, json, answer }) = self.commands.try_recv() {
            quit |= command == LiveCommand::Quit;
            let said = self.carry_out(command, json);
            // Who asked may have gone.
            let _ = answer.send(said);
        }
        quit
    }

    fn carry_out(&mut self, command: LiveCommand, json: bool) -> Result<String, String> {
        let Scene { world, lines, .. } = &mut self.scene;
        match command {
            LiveCommand::Set { line, toward, changes } => {
                lines.set(world, (&line, toward.as_deref()), &changes).map(|()| String::new())
            }
            LiveCommand::Stats { json: wanted } if json || wanted => Ok(told::as_json(self)),
            LiveCommand::Stats { .. } => Ok(told::as_text(self)),
            LiveCommand::Settings => Ok(lines.settings(world, json)),
            LiveCommand::Help => Ok(lines_help()),
            LiveCommand::Quit | LiveCommand::Nothing => Ok(String::new()),
        }
    }

    /// Brings into the world what `host` has sent; true where there may be more. The world is moved on meanwhile.
    fn read(&mut self, host: usize, most: &mut Duration) -> io::Result<bool> {
        let Self { clock, scene, ends, .. } = self;
        let Some(End { device: Some(device), crossed, .. }) = ends.get_mut(host) else {
            return Ok(false);
        };
        for _ in 0..BATCH {
            match device.receive()? {
                Some(Arrival::Unit { data, .. }) => {
                    scene.move_on(clock, most);
                    offload::cut(data, |packet| {
                        crossed.sent += 1;
                        scene.world.arrive(host, packet);
                    });
                }
                Some(Arrival::NoUnit | Arrival::Up | Arrival::Down | Arrival::Room(_) | Arrival::Told(_)) => {}
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    fn wait(&mut self) {
        let look = self.clock.now() + LOOK;
        let until = self.scene.next_event_at().map_or(look, |next| next.min(look));
        let watches: Vec<Watch<'_>> = self.ends.iter().flat_map(End::watches).collect();
        self.clock.wait(until, &self.bell, &watches);
    }
}

impl End {
    /// Keeps a packet for the host, where there is room.
    fn keep(&mut self, left: LeftPacket) {
        if self.device.is_some() && self.waiting.len() < QUEUE {
            self.waiting.push_back(left);
        } else {
            self.crossed.lost += 1;
        }
    }

    /// Hands over what waits, as far as there is room.
    fn write(&mut self, clock: &impl Clock) -> io::Result<()> {
        let Some(device) = &mut self.device else {
            return Ok(());
        };
        while let Some(LeftPacket { at, packet, .. }) = self.waiting.front() {
            match device.send(packet, Address::NONE)? {
                Sent::Taken => {
                    self.crossed.got += 1;
                    self.crossed.late.add(late(*at, clock.now()), 1);
                }
                Sent::Refused => self.crossed.lost += 1,
                Sent::Full => break,
            }
            self.waiting.pop_front();
        }
        self.is_full = device.flush()?;
        Ok(())
    }

    /// What is waited for.
    fn watches(&self) -> impl Iterator<Item = Watch<'_>> {
        let none = Descriptors { read: None, write: None };
        let Descriptors { read, write } = self.device.as_ref().map_or(none, |device| device.descriptors());
        let write = write.filter(|_| self.is_full || !self.waiting.is_empty());
        let watch = |descriptor, reading| Watch { descriptor, reading, writing: !reading };
        let read = read.map(|descriptor| watch(descriptor, true));
        read.into_iter().chain(write.map(|descriptor| watch(descriptor, false)))
    }
}

fn late(due: Instant, now: Instant) -> Duration {
    now.saturating_since(due)
}

#[cfg(test)]
mod tests {
    use core::net::IpAddr;
    use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::sync::{Arc, Mutex};

    use kumiki_lab::laboratory::Laboratory;
    use kumiki_lab::scenario::{Choice, Document};
    use kumiki_octets::{Message, Sum};

    use super::super::scene::STEP;
    use super::*;

    /// Two hosts that load a line beside one that is real.
    const BESIDE: &str = r#"
title = "A load beside a real host"
[host.a]
graph = { tcp = ["ip"], ip = ["l0"] }
[host.b]
like = "a"
[host.c]
graph = ["ip", "l0"]
real = { run = "true" }
[host.d]
like = "c"
real = { run = "true" }
[link.beside]
ends = ["a", "b"]
medium = "point-to-point"
rate = "10 Mb/s"
[link.line]
ends = ["c", "d"]
medium = "point-to-point"
rate = "10 Mb/s"
[load.bulk]
kind = "netperf"
from = "a.tcp"
to = "b.tcp"
message = "8 KiB"
"#;

    fn scene(schedule: &[&str]) -> Scene {
        let document = Document::parse("beside", "beside.toml", BESIDE).unwrap();
        let points = document.points(&Choice::default()).unwrap();
        let schedule = schedule.iter().map(|line| LiveCommand::parse_timed(line).unwrap().unwrap());
        Scene::new(Laboratory::live(&points[0]).unwrap(), schedule.collect()).unwrap()
    }

    /// A machine on which each look at the clock takes a while.
    struct Slow {
        now: AtomicU64,
        look: Duration,
    }

    impl Slow {
        const fn new(now: Duration, look: Duration) -> Self {
            Self { now: AtomicU64::new(now.as_nanos()), look }
        }
    }

    impl Clock for Slow {
        fn now(&self) -> Instant {
            Instant::from_nanos(self.now.fetch_add(self.look.as_nanos(), Ordering::Relaxed))
        }

        fn wait(&self, _: Instant, _: &Bell, _: &[Watch<'_>]) {}
    }

    #[test]
    fn a_world_that_is_too_slow_can_be_ended_and_goes_on() {
        let clock = Slow::new(Duration::from_secs(1000), Duration::from_millis(6));
        let mut engine = Engine::new(clock, scene(&[]), Vec::new(), |said| panic!("{said}")).unwrap();
        let mut before = engine.world().now();
        for _ in 0..10 {
            engine.run(|| true);
            let now = engine.world().now();
            assert!(before < now && now < before + STEP * 4, "from {before} to {now}");
            before = now;
        }
    }

    /// What a device has to give, and what it has got, as long as it has not failed.
    #[derive(Clone, Default)]
    struct Kept {
        sends: Arc<Mutex<VecDeque<Message>>>,
        got: Arc<Mutex<usize>>,
        fails: Arc<AtomicBool>,
    }

    impl RealDevice for Kept {
        fn descriptors(&self) -> Descriptors<'_> {
            Descriptors { read: None, write: None }
        }

        fn receive(&mut self) -> io::Result<Option<Arrival>> {
            if self.fails.load(Ordering::Relaxed) {
                return Err(io::Error::other("its interface was deleted"));
            }
            let next = self.sends.lock().unwrap().pop_front();
            let waited = Duration::ZERO;
            Ok(next.map(|data| Arrival::Unit { data, source: Address::NONE, waited }))
        }

        fn send(&mut self, _: &Message, _: Address) -> io::Result<Sent> {
            *self.got.lock().unwrap() += 1;
            Ok(Sent::Taken)
        }
    }

    /// An empty datagram from c to d, whose addresses are given out.
    fn datagram(engine: &Engine<Slow>) -> Message {
        let [c, d] = [0, 1].map(|host| engine.world().real()[host].addresses[0].0);
        let (IpAddr::V4(c), IpAddr::V4(d)) = (c, d) else { panic!("{c} and {d}") };
        let mut packet = vec![0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0];
        packet.extend(c.octets());
        packet.extend(d.octets());
        let sum = Sum::of(&packet).checksum().to_be_bytes();
        packet[10..12].copy_from_slice(&sum);
        Message::from_octets(&packet)
    }

    fn between(schedule: &[&str]) -> (Engine<Slow>, [Kept; 2], Arc<Mutex<Vec<String>>>) {
        let (ends, said) = ([Kept::default(), Kept::default()], Arc::new(Mutex::new(Vec::new())));
        let devices = ends.iter().map(|it| -> Box<dyn RealDevice> { Box::new(it.clone()) }).collect();
        let clock = Slow::new(Duration::ZERO, Duration::from_micros(100));
        let log = Arc::clone(&said);
        let say = move |text: &str| log.lock().unwrap().push(text.to_owned());
        (Engine::new(clock, scene(schedule), devices, say).unwrap(), ends, said)
    }

    fn run_to(engine: &mut Engine<Slow>, ms: u64) {
        while engine.world().now() < Instant::from_nanos(ms * 1_000_000) {
            engine.run(|| true);
        }
    }

    #[test]
    fn a_host_whose_device_has_failed_is_told_of_once_and_the_others_go_on() {
        let (mut engine, [c, d], said) = between(&[]);
        d.fails.store(true, Ordering::Relaxed);
        let packet = datagram(&engine);
        c.sends.lock().unwrap().extend([packet.clone(), packet]);
        run_to(&mut engine, 20);
        let said = said.lock().unwrap().clone();
        assert!(matches!(said.as_slice(), [one] if one.starts_with("host d has no network any more")), "{said:?}");
        let crossed: Vec<_> = engine.crossed().map(|it| (it.sent, it.got, it.lost)).collect();
        assert_eq!(crossed, [(2, 0, 0), (0, 0, 2)]);
    }

    #[test]
    fn a_line_is_changed_at_the_time_of_the_schedule_and_when_it_is_asked_for() {
        let (mut engine, [c, d], said) = between(&["10ms line toward d state down", "20ms settings"]);
        let packet = datagram(&engine);
        let send = |engine: &mut Engine<Slow>, until| {
            c.sends.lock().unwrap().push_back(packet.clone());
            run_to(engine, until);
            core::mem::take(&mut *d.got.lock().unwrap())
        };
        assert_eq!(send(&mut engine, 5), 1);
        run_to(&mut engine, 11);
        assert_eq!(send(&mut engine, 21), 0);
        let told = said.lock().unwrap().join("\n");
        assert!(told.contains("line toward c.l0 rate 10 Mb/s queue 10240 packets\n"), "{told}");
        assert!(told.contains("line toward d.l0 rate 10 Mb/s queue 10240 packets state down"), "{told}");
        let set = |engine: &mut Engine<Slow>, line| engine.carry_out(LiveCommand::parse(line).unwrap(), false);
        assert_eq!(set(&mut engine, "line state up delay 30ms"), Ok(String::new()));
        assert_eq!(send(&mut engine, 45), 0);
        run_to(&mut engine, 60);
        assert_eq!(core::mem::take(&mut *d.got.lock().unwrap()), 1);
        // As the file has it again.
        assert_eq!(set(&mut engine, "line clear"), Ok(String::new()));
        assert_eq!(send(&mut engine, 65), 1);
        for (line, part) in [
            ("lin loss 1%", "`lin` is no line; there are beside, line; try line"),
            ("line toward a loss 1%", "unknown end of this line \"a\"; one of c.l0, d.l0"),
            ("line rate none", "line: rate: a line of a scenario has one"),
        ] {
            let why = set(&mut engine, line).unwrap_err();
            assert!(why.contains(part), "{line}: {why}");
        }
    }
}
