//! Tests of the laboratory through its public surface, in one program: many wait, and do so beside each other. What
//! counts the memory of its process is a program of its own.

mod accurate_ecn;
mod arrange;
mod bursts;
mod captures;
mod clocks;
mod cores;
mod counters;
mod generated;
mod given_up;
mod held;
mod ipv6;
mod language;
mod measured;
mod mistakes;
mod osi;
mod outages;
mod pages;
mod paper4;
mod papers;
mod real;
mod rows;
mod runs;
mod scenarios;
mod settings;
mod silence;
mod sonet;
mod switched;
mod with_the_call;
