//! The programs that make a load, and whether they have done all they were to do.

use std::collections::BTreeMap;

use kumiki_sim::{HostId, World};

use crate::experiment::flows::progress;
use crate::experiment::given_up;
use crate::experiment::load::{Kind, Load};
use crate::workload::{FileUser, Ping, Source, UdpSource};

pub(in crate::experiment) fn program<'a, T: kumiki_graph::Protocol>(
    world: &'a World,
    hosts: &BTreeMap<String, HostId>,
    (host, node): &(String, String),
) -> Option<&'a T> {
    let host = world.host(*hosts.get(host)?)?;
    host.graph.protocol(host.graph.node(node)?)
}

/// Who asks for a file to be moved: the writer, or the reader.
pub(in crate::experiment) fn file_user<'a>(
    world: &'a World,
    hosts: &BTreeMap<String, HostId>,
    load: &Load,
) -> Option<&'a FileUser> {
    let mut ends = load.from.iter().chain(&load.to).filter(|_| load.kind == Kind::File);
    ends.find_map(|end| program::<FileUser>(world, hosts, end))
}

/// The writing programs of a load of streams, each with the number of its place.
pub(super) fn sources<'a>(
    world: &'a World,
    hosts: &BTreeMap<String, HostId>,
    load: &Load,
) -> impl Iterator<Item = (usize, &'a Source)> {
    let places = load.from.iter().enumerate();
    places.filter_map(|(number, from)| Some((number, program::<Source>(world, hosts, from)?)))
}

/// Whether all of the writing programs of kind `T` are `done`.
pub(super) fn all_done<T: kumiki_graph::Protocol>(
    world: &World,
    hosts: &BTreeMap<String, HostId>,
    load: &Load,
    done: impl Fn(&T) -> bool,
) -> bool {
    load.from.iter().all(|from| program::<T>(world, hosts, from).is_some_and(&done))
}

/// Whether the writing program has done all it was to do, and of streams the end has arrived.
pub(in crate::experiment) fn is_done(world: &World, hosts: &BTreeMap<String, HostId>, load: &Load) -> bool {
    match load.kind {
        Kind::Stream => {
            let received = progress(world, hosts, load);
            all_done(world, hosts, load, |it: &Source| it.is_done(world.now()))
                && received.iter().flatten().all(|it| it.ended.is_some() || it.aborted.is_some())
        }
        Kind::File => {
            file_user(world, hosts, load).is_some_and(FileUser::is_over)
                || given_up::of_file(world, hosts, load).is_some()
        }
        Kind::Units => all_done(world, hosts, load, |it: &UdpSource| it.is_done(world.now())),
        Kind::Ping => all_done(world, hosts, load, |it: &Ping| it.is_done() || it.has_stopped(world.now())),
        Kind::Rpc => given_up::all_answered(world, hosts, load),
    }
}
