//! `kumiki` as a process, by what it takes, says and writes, in one test program: most of these wait, and do so beside
//! each other. What Linux judges is in `linux`.

mod decode;
mod exit_status;
mod ftam;
mod mms;
mod pad;
mod page;
mod ppp;
mod tutorial;
mod x25;
mod xtp;
