//! FTAM and MMS in real time: responders and clients on connections of the operating system, and the stores of files
//! behind them.
//!
//! | read | for |
//! |---|---|
//! | [`osi`] | associations: seven layers on a connection, who may call, what is told |
//! | [`url`] | where a file is, and how its responder is reached |
//! | [`collect`] | all that is new is fetched, each file once |
//! | [`attributes`] | what attributes of files say |
//! | [`local`] | files here that come or are sent: they appear whole, and go on after a break |
//! | [`files`] | directories as filestores: locks, quotas, passwords, disks that fail |
#![cfg(target_os = "linux")]

pub mod attributes;
pub mod collect;
pub mod files;
pub mod local;
pub mod osi;
pub mod url;
