//! The adapters of this process, by the number that each call names.

use core::ffi::c_void;
use core::time::Duration;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use crate::clock::{Clock, World};
use crate::descriptor::Descriptor;
use crate::flags::Flags;

/// All there are. What packetdrill hands back with each call is a number and no address, so that a wrong one is an
/// error.
static ADAPTERS: Mutex<BTreeMap<usize, Arc<Adapter>>> = Mutex::new(BTreeMap::new());

fn adapters() -> MutexGuard<'static, BTreeMap<usize, Arc<Adapter>>> {
    ADAPTERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the clock of a script shows when the host is made, so that no time is negative where packetdrill subtracts.
const BEGAN: Duration = Duration::from_secs(1_000_000_000);

/// A host, and the calls that packetdrill makes at it.
pub(crate) struct Adapter {
    pub(crate) clock: Clock,
}

impl Adapter {
    /// One of its own, as `flags` say.
    pub(crate) fn new(flags: &Flags) -> io::Result<Self> {
        Ok(Self { clock: Clock::new(flags)? })
    }

    /// Makes one, and says what calls name it by.
    pub(crate) fn register(self) -> *mut c_void {
        let mut all = adapters();
        let number = all.last_key_value().map_or(1, |(last, _)| last + 1);
        all.insert(number, Arc::new(self));
        core::ptr::without_provenance_mut(number)
    }

    /// The one that a call names.
    pub(crate) fn named(userdata: *mut c_void) -> Result<Arc<Self>, Errno> {
        adapters().get(&userdata.addr()).cloned().ok_or(Errno::FAULT)
    }

    /// The one that has this descriptor.
    pub(crate) fn with_descriptor(number: i32) -> Option<Arc<Self>> {
        let all: Vec<_> = adapters().values().cloned().collect();
        all.into_iter().find(|it| it.clock.lock().descriptors.contains_key(&number))
    }

    /// It is not needed any more. Descriptors that are left packetdrill has closed, or will.
    pub(crate) fn free(userdata: *mut c_void) {
        let gone = adapters().remove(&userdata.addr());
        if let Some(gone) = gone {
            gone.clock.take_descriptors().into_values().for_each(Descriptor::leave_open);
        }
    }

    /// The time of day, as packetdrill has it.
    pub(crate) fn time_of_day(&self) -> Duration {
        BEGAN + self.clock.look()
    }

    /// The next packet that leaves, and at what time of day; none where there will be none.
    pub(crate) fn transmit(&self) -> Option<(Duration, Vec<u8>)> {
        self.clock.transmit().map(|(at, packet)| (BEGAN + at, packet))
    }

    /// Works on the descriptor `number`.
    pub(crate) fn on<T>(&self, number: i32, act: impl FnOnce(&mut Descriptor) -> Result<T, Errno>) -> Result<T, Errno> {
        self.clock.with(|world| act(descriptor(world, number)?))
    }

    /// As [`Adapter::on`], where the call waits unless it is said not to: for `what`.
    pub(crate) fn wait_on<T>(
        &self,
        number: i32,
        what: &str,
        never_waits: bool,
        mut act: impl FnMut(&mut Descriptor) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let never = never_waits || self.on(number, |it| Ok(it.never_waits))?;
        if never {
            return self.on(number, act);
        }
        self.clock.wait(what, None, |world| act(descriptor(world, number)?))
    }
}

/// The descriptor `number`.
pub(crate) fn descriptor(world: &mut World, number: i32) -> Result<&mut Descriptor, Errno> {
    world.descriptors.get_mut(&number).ok_or(Errno::BADF)
}
