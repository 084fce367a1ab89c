//! The properties that matter, over a bottleneck in a model.

mod bottleneck;
mod flows;
