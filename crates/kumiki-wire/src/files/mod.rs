//! Files over OSI: FTAM and the file services of MMS.

pub mod ftam;
pub mod mms;
