//! The table that packetdrill has its calls from, and what it puts there.
//!
//! Each function names the adapter, then is as the call of that name, and sets `errno` where it says -1. No panic
//! leaves here: it becomes `EIO`, with what it said on standard error.

#![expect(unsafe_code, reason = "a function that C finds by its name, and the table that it fills")]

use core::ffi::{c_char, c_int, c_long, c_longlong, c_uint, c_ulong, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use libc::{iovec, off_t, socklen_t, ssize_t};
use rustix::io::Errno;

use crate::adapter::Adapter;
use crate::calls::{Part, parts};
use crate::flags::Flags;
use crate::{memory, options};

/// Names the adapter.
type Data = *mut c_void;
/// An address in the caller's memory, of whatever.
type CallerPointer = *mut c_void;

/// The table, in packetdrill's order.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interface {
    userdata: Data,
    free: extern "C" fn(Data),
    socket: extern "C" fn(Data, c_int, c_int, c_int) -> c_int,
    bind: extern "C" fn(Data, c_int, CallerPointer, socklen_t) -> c_int,
    listen: extern "C" fn(Data, c_int, c_int) -> c_int,
    accept: extern "C" fn(Data, c_int, CallerPointer, CallerPointer) -> c_int,
    connect: extern "C" fn(Data, c_int, CallerPointer, socklen_t) -> c_int,
    read: extern "C" fn(Data, c_int, CallerPointer, usize) -> ssize_t,
    readv: extern "C" fn(Data, c_int, *const iovec, c_int) -> ssize_t,
    recv: extern "C" fn(Data, c_int, CallerPointer, usize, c_int) -> ssize_t,
    recvfrom: extern "C" fn(Data, c_int, CallerPointer, usize, c_int, CallerPointer, CallerPointer) -> ssize_t,
    recvmsg: extern "C" fn(Data, c_int, CallerPointer, c_int) -> ssize_t,
    write: extern "C" fn(Data, c_int, CallerPointer, usize) -> ssize_t,
    writev: extern "C" fn(Data, c_int, *const iovec, c_int) -> ssize_t,
    send: extern "C" fn(Data, c_int, CallerPointer, usize, c_int) -> ssize_t,
    sendto: extern "C" fn(Data, c_int, CallerPointer, usize, c_int, CallerPointer, socklen_t) -> ssize_t,
    sendmsg: extern "C" fn(Data, c_int, CallerPointer, c_int) -> ssize_t,
    // These two have a variable list of arguments in C; a third one is passed as any other where this runs.
    fcntl: extern "C" fn(Data, c_int, c_int, usize) -> c_int,
    ioctl: extern "C" fn(Data, c_int, c_ulong, CallerPointer) -> c_int,
    close: extern "C" fn(Data, c_int) -> c_int,
    shutdown: extern "C" fn(Data, c_int, c_int) -> c_int,
    getsockopt: extern "C" fn(Data, c_int, c_int, c_int, CallerPointer, CallerPointer) -> c_int,
    setsockopt: extern "C" fn(Data, c_int, c_int, c_int, CallerPointer, socklen_t) -> c_int,
    poll: extern "C" fn(Data, CallerPointer, c_ulong, c_int) -> c_int,
    netdev_send: extern "C" fn(Data, CallerPointer, usize) -> c_int,
    netdev_receive: extern "C" fn(Data, CallerPointer, CallerPointer, CallerPointer) -> c_int,
    usleep: extern "C" fn(Data, c_uint) -> c_int,
    gettimeofday: extern "C" fn(Data, CallerPointer, CallerPointer) -> c_int,
    epoll_create: extern "C" fn(Data, c_int) -> c_int,
    epoll_ctl: extern "C" fn(Data, c_int, c_int, c_int, CallerPointer) -> c_int,
    epoll_wait: extern "C" fn(Data, c_int, CallerPointer, c_int, c_int) -> c_int,
    pipe: extern "C" fn(Data, CallerPointer) -> c_int,
    splice: extern "C" fn(Data, c_int, *mut off_t, c_int, *mut off_t, usize, c_uint) -> ssize_t,
}

/// Makes a call at the adapter that `data` names.
pub(crate) fn guarded<T>(data: Data, act: impl FnOnce(&Adapter) -> Result<T, Errno>) -> Result<T, Errno> {
    catch_unwind(AssertUnwindSafe(|| act(&*Adapter::named(data)?))).unwrap_or(Err(Errno::IO))
}

/// As [`guarded`], as C has it: what it answers, or -1 and `errno`.
fn call<T: Into<i64>>(data: Data, act: impl FnOnce(&Adapter) -> Result<T, Errno>) -> i64 {
    let come_back = |it: &Adapter| {
        it.clock.come_back();
        act(it)
    };
    answer(guarded(data, come_back))
}

/// What a call has found, as C has it.
fn answer<T: Into<i64>>(found: Result<T, Errno>) -> i64 {
    match found {
        Ok(answer) => answer.into(),
        Err(why) => {
            memory::set_errno(why);
            -1
        }
    }
}

/// As [`call`], of one that answers with a descriptor, a count or 0.
fn number<T: Into<i64>>(data: Data, act: impl FnOnce(&Adapter) -> Result<T, Errno>) -> c_int {
    c_int::try_from(call(data, act)).unwrap_or(-1)
}

/// As [`call`], of one that answers 0.
fn done(data: Data, act: impl FnOnce(&Adapter) -> Result<(), Errno>) -> c_int {
    number(data, |it| act(it).map(|()| 0))
}

/// As [`call`], of one that answers how many octets there were.
fn octets(data: Data, act: impl FnOnce(&Adapter) -> Result<usize, Errno>) -> ssize_t {
    let count = call(data, |it| i64::try_from(act(it)?).map_err(|_| Errno::OVERFLOW));
    ssize_t::try_from(count).unwrap_or(-1)
}

extern "C" fn free(data: Data) {
    // What a panic here leaves behind goes with the process.
    let _ = catch_unwind(|| Adapter::free(data));
}

extern "C" fn socket(data: Data, domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    number(data, |it| it.socket(domain, kind, protocol))
}

extern "C" fn bind(data: Data, fd: c_int, address: CallerPointer, len: socklen_t) -> c_int {
    done(data, |it| it.bind(fd, address, len))
}

extern "C" fn listen(data: Data, fd: c_int, backlog: c_int) -> c_int {
    done(data, |it| it.listen(fd, backlog))
}

extern "C" fn accept(data: Data, fd: c_int, address: CallerPointer, len: CallerPointer) -> c_int {
    number(data, |it| it.accept(fd, address, len))
}

extern "C" fn connect(data: Data, fd: c_int, address: CallerPointer, len: socklen_t) -> c_int {
    done(data, |it| it.connect(fd, address, len))
}

extern "C" fn read(data: Data, fd: c_int, at: CallerPointer, len: usize) -> ssize_t {
    octets(data, |it| it.read(fd, &[Part { at, octets: len }], 0))
}

/// The entries of a list that says how many it has.
fn list(at: *const iovec, count: c_int) -> Result<Vec<Part>, Errno> {
    parts(at, usize::try_from(count).map_err(|_| Errno::INVAL)?)
}

extern "C" fn readv(data: Data, fd: c_int, at: *const iovec, count: c_int) -> ssize_t {
    octets(data, |it| it.read(fd, &list(at, count)?, 0))
}

extern "C" fn recv(data: Data, fd: c_int, at: CallerPointer, len: usize, flags: c_int) -> ssize_t {
    octets(data, |it| it.read(fd, &[Part { at, octets: len }], flags))
}

extern "C" fn recvfrom(
    data: Data,
    fd: c_int,
    at: CallerPointer,
    len: usize,
    flags: c_int,
    _: CallerPointer,
    address_len: CallerPointer,
) -> ssize_t {
    octets(data, |it| {
        let got = it.read(fd, &[Part { at, octets: len }], flags)?;
        // A connection says nobody's address.
        if !address_len.is_null() {
            memory::write(address_len, &0_u32.to_ne_bytes())?;
        }
        Ok(got)
    })
}

/// What a message names.
struct Named {
    parts: Vec<Part>,
    /// Where control messages are, and how many octets there are for them.
    control: CallerPointer,
    room: usize,
}

/// What the message at `at` names.
fn message(at: CallerPointer) -> Result<Named, Errno> {
    const WORD: usize = size_of::<usize>();
    let octets = memory::read(at, size_of::<libc::msghdr>())?;
    let (words, _) = octets.as_chunks::<WORD>();
    // The name, its length, the list, its length, control messages, their length, flags.
    let [_, _, list, count, control, room, ..] = words else {
        return Err(Errno::FAULT);
    };
    let [list, count, control, room] = [list, count, control, room].map(|it| usize::from_ne_bytes(*it));
    let list = core::ptr::with_exposed_provenance::<iovec>(list);
    Ok(Named { parts: parts(list, count)?, control: core::ptr::with_exposed_provenance_mut(control), room })
}

/// Where in a message the length of its control messages stands.
const CONTROL_LEN: usize = core::mem::offset_of!(libc::msghdr, msg_controllen);

/// A control message of one number: its length with the header, its level and type, the number, and what fills it up to
/// whole words.
fn control_message((level, kind): (c_int, c_int), number: c_int) -> Vec<u8> {
    let head = size_of::<libc::cmsghdr>();
    let numbers = [level, kind, number].map(c_int::to_ne_bytes).concat();
    let mut octets = [&(head + size_of::<c_int>()).to_ne_bytes()[..], &numbers].concat();
    octets.resize(octets.len().next_multiple_of(size_of::<usize>()), 0);
    octets
}

extern "C" fn recvmsg(data: Data, fd: c_int, at: CallerPointer, flags: c_int) -> ssize_t {
    octets(data, |it| {
        let Named { parts, control, room } = message(at)?;
        let got = it.read(fd, &parts, flags)?;
        let hint = it.unread_hint(fd)?.map(|octets| control_message((libc::IPPROTO_TCP, options::TCP_INQ), octets));
        let hint = hint.filter(|it| it.len() <= room).unwrap_or_default();
        memory::write(control, &hint)?;
        memory::write(at.wrapping_byte_add(CONTROL_LEN), &hint.len().to_ne_bytes())?;
        Ok(got)
    })
}

extern "C" fn write(data: Data, fd: c_int, at: CallerPointer, len: usize) -> ssize_t {
    octets(data, |it| it.write(fd, &[Part { at, octets: len }], 0))
}

extern "C" fn writev(data: Data, fd: c_int, at: *const iovec, count: c_int) -> ssize_t {
    octets(data, |it| it.write(fd, &list(at, count)?, 0))
}

extern "C" fn send(data: Data, fd: c_int, at: CallerPointer, len: usize, flags: c_int) -> ssize_t {
    octets(data, |it| it.write(fd, &[Part { at, octets: len }], flags))
}

extern "C" fn sendto(
    data: Data,
    fd: c_int,
    at: CallerPointer,
    len: usize,
    flags: c_int,
    _: CallerPointer,
    _: socklen_t,
) -> ssize_t {
    octets(data, |it| it.write(fd, &[Part { at, octets: len }], flags))
}

extern "C" fn sendmsg(data: Data, fd: c_int, at: CallerPointer, flags: c_int) -> ssize_t {
    octets(data, |it| {
        let Named { parts, room, .. } = message(at)?;
        if room != 0 {
            eprintln!("kumiki: control messages of sendmsg are not covered");
            return Err(Errno::INVAL);
        }
        it.write(fd, &parts, flags)
    })
}

extern "C" fn fcntl(data: Data, fd: c_int, command: c_int, argument: usize) -> c_int {
    number(data, |it| it.fcntl(fd, command, argument))
}

extern "C" fn ioctl(data: Data, fd: c_int, request: c_ulong, argument: CallerPointer) -> c_int {
    done(data, |it| it.ioctl(fd, request, argument))
}

extern "C" fn close(data: Data, fd: c_int) -> c_int {
    done(data, |it| it.close(fd))
}

extern "C" fn shutdown(data: Data, fd: c_int, how: c_int) -> c_int {
    done(data, |it| it.shutdown(fd, how))
}

extern "C" fn getsockopt(
    data: Data,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: CallerPointer,
    len: CallerPointer,
) -> c_int {
    done(data, |it| it.option(fd, (level, name), value, len))
}

extern "C" fn setsockopt(
    data: Data,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: CallerPointer,
    len: socklen_t,
) -> c_int {
    done(data, |it| it.set_option(fd, (level, name), value, len))
}

extern "C" fn poll(data: Data, entries: CallerPointer, count: c_ulong, millis: c_int) -> c_int {
    number(data, |it| it.poll(entries, count, millis))
}

extern "C" fn netdev_send(data: Data, at: CallerPointer, len: usize) -> c_int {
    done(data, |it| {
        it.clock.receive(&memory::read(at, len)?);
        Ok(())
    })
}

extern "C" fn netdev_receive(data: Data, at: CallerPointer, len: CallerPointer, micros: CallerPointer) -> c_int {
    done(data, |it| {
        let room = memory::read(len, size_of::<usize>())?;
        let room = room.first_chunk().map_or(0, |it| usize::from_ne_bytes(*it));
        // Of no octets at all packetdrill says that they are no packet, and at which line it wanted one; a failure here
        // it would ask again for ever.
        let (time, packet) = it.transmit().unwrap_or_default();
        let packet = packet.get(..room).unwrap_or(&packet);
        memory::write(at, packet)?;
        memory::write(len, &packet.len().to_ne_bytes())?;
        let time = c_longlong::try_from(time.as_micros()).unwrap_or(c_longlong::MAX);
        memory::write(micros, &time.to_ne_bytes())
    })
}

extern "C" fn usleep(data: Data, micros: c_uint) -> c_int {
    done(data, |it| {
        it.sleep(micros);
        Ok(())
    })
}

// It is this call by which packetdrill learns when the one before ended, so that one ends with it.
extern "C" fn gettimeofday(data: Data, at: CallerPointer, _: CallerPointer) -> c_int {
    let told = guarded(data, |it| {
        let now = it.time_of_day();
        let seconds = c_long::try_from(now.as_secs()).unwrap_or(c_long::MAX);
        let micros = c_long::from(now.subsec_micros());
        memory::write(at, &[seconds.to_ne_bytes(), micros.to_ne_bytes()].concat())
    });
    c_int::try_from(answer(told.map(|()| 0))).unwrap_or(-1)
}

extern "C" fn epoll_create(data: Data, size: c_int) -> c_int {
    number(data, |it| it.epoll_create(size))
}

extern "C" fn epoll_ctl(data: Data, epoll: c_int, operation: c_int, fd: c_int, event: CallerPointer) -> c_int {
    done(data, |it| it.epoll_ctl(epoll, operation, fd, event))
}

extern "C" fn epoll_wait(data: Data, epoll: c_int, events: CallerPointer, most: c_int, millis: c_int) -> c_int {
    number(data, |it| it.epoll_wait(epoll, events, most, millis))
}

extern "C" fn pipe(data: Data, _: CallerPointer) -> c_int {
    done(data, |_| Err(Errno::NOSYS))
}

extern "C" fn splice(data: Data, _: c_int, _: *mut off_t, _: c_int, _: *mut off_t, _: usize, _: c_uint) -> ssize_t {
    octets(data, |_| Err(Errno::NOSYS))
}

impl Interface {
    /// The table of the adapter that `userdata` names.
    pub(crate) fn of(userdata: Data) -> Self {
        Self {
            userdata,
            free,
            socket,
            bind,
            listen,
            accept,
            connect,
            read,
            readv,
            recv,
            recvfrom,
            recvmsg,
            write,
            writev,
            send,
            sendto,
            sendmsg,
            fcntl,
            ioctl,
            close,
            shutdown,
            getsockopt,
            setsockopt,
            poll,
            netdev_send,
            netdev_receive,
            usleep,
            gettimeofday,
            epoll_create,
            epoll_ctl,
            epoll_wait,
            pipe,
            splice,
        }
    }
}

/// The adapter that the text at `flags` asks for, in a table.
fn made(flags: *const c_char) -> Result<Interface, String> {
    let text = memory::text(flags.cast()).map_err(|why| format!("--so_flags cannot be read: {why}"))?;
    let flags = Flags::parse(text.as_deref().unwrap_or_default()).map_err(|why| why.to_string())?;
    let adapter = Adapter::new(&flags).map_err(|why| format!("no host can be made: {why}"))?;
    Ok(Interface::of(adapter.register()))
}

/// What packetdrill calls once: makes a host as the text at `flags` says, and fills the table.
///
/// Where that cannot be done the process ends with status 1, for there is no answer by which packetdrill could be told.
#[unsafe(no_mangle)]
extern "C" fn packetdrill_interface_init(flags: *const c_char, interface: *mut Interface) {
    let table = catch_unwind(|| made(flags)).unwrap_or_else(|_| Err("a fault of its own".to_owned()));
    let placed = table.and_then(|table| {
        // Looks whether something can be written there, in full.
        let room = memory::write(interface.cast(), &[0; size_of::<Interface>()]);
        if room.is_err() || !interface.is_aligned() {
            return Err("there is no room for the table of functions".to_owned());
        }
        // SAFETY: it is aligned, and the kernel has just written as many octets there; packetdrill has no other thread
        // yet that could look at it.
        unsafe { interface.write(table) };
        Ok(())
    });
    if let Err(why) = placed {
        eprintln!("kumiki: {why}");
        std::process::exit(1);
    }
}
