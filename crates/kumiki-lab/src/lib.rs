//! The laboratory: scenarios, the programs that load a stack, and what becomes of the results.

pub mod capture;
pub mod compare;
pub mod experiment;
pub mod figure;
pub mod fit;
pub mod laboratory;
pub mod limit;
pub mod page;
pub mod plot;
pub mod profile;
pub mod progress;
pub mod reproduce;
pub mod rows;
pub mod scenario;
pub mod sources;
pub mod stats;
pub mod table;
mod topology;
pub mod workload;
