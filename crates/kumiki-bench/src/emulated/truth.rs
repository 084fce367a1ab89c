//! How long transfers take behind `kumiki link`, beside virtual time and beside Linux.
//!
//! | | |
//! |---|---|
//! | Behind the path | a program on Linux's TCP fetches from the gateway's, which is ours and sends |
//! | Virtual time | both ends ours, in `kumiki_net::sim` with a link of the same settings |
//! | Linux | both ends Linux's, each at an interface of its own, between which the same path stands; this takes root, and is left out without |
//! | Loss | other packets are lost in each transfer: means, with their standard errors |

use core::time::Duration;

use comfy_table::{CellAlignment, Table, presets};
use kumiki_net::sim::{Link, Net, time};
use kumiki_net::{TcpListener, TcpStream};
use serde::Serialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::peer::{PeerAction, Server};

const PORT: u16 = 7;

/// Mbit/s, round trips in ms, losses each way in percent.
const RATES: [u64; 2] = [10, 100];
const ROUND_TRIPS: [u64; 2] = [10, 100];
const LOSSES: [u64; 2] = [0, 1];
const SIZES: [u64; 5] = [1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// The queue of `kumiki link` where nothing else is said, in packets of 1500 octets.
const QUEUE: u64 = 1000 * 1500;

/// Of transfers with losses so many octets together are enough.
const ENOUGH: u64 = 20_000_000;

/// Transfers in virtual time for each.
const VIRTUAL: u64 = 40;

/// What a path is like.
#[derive(Clone, Copy, Debug, Serialize)]
struct Setting {
    mbit_s: u64,
    round_trip_ms: u64,
    loss_percent: u64,
    octets: u64,
}

/// Mean, and its standard error.
#[derive(Clone, Copy, Debug, Serialize)]
struct Mean {
    seconds: f64,
    error: f64,
}

#[derive(Debug, Serialize)]
struct Row {
    setting: Setting,
    behind: Mean,
    r#virtual: Mean,
    linux: Option<Mean>,
}

impl Mean {
    #[expect(clippy::cast_precision_loss, reason = "a handful of times")]
    fn of(all: &[f64]) -> Self {
        let count = all.len().max(1) as f64;
        let seconds = all.iter().sum::<f64>() / count;
        let squares: f64 = all.iter().map(|one| (one - seconds).powi(2)).sum();
        Self { seconds, error: (squares / (count - 1.0).max(1.0) / count).sqrt() }
    }
}

impl Setting {
    fn words(self) -> String {
        let Self { mbit_s, round_trip_ms, loss_percent, .. } = self;
        format!("rate {mbit_s}Mb/s delay {}us loss {loss_percent}%", round_trip_ms * 500)
    }

    /// How long the transfer takes in virtual time.
    fn virtually(self, seed: u64) -> Result<f64, String> {
        let net = Net::new(seed);
        net.set_latency(Duration::ZERO);
        let link = Link::new().rate(self.mbit_s * 1_000_000).queue(QUEUE);
        let link = link.delay(Duration::from_micros(self.round_trip_ms * 500));
        #[expect(clippy::cast_precision_loss, reason = "a percentage")]
        let link = link.loss(self.loss_percent as f64 / 100.0);
        let octets = self.octets;
        net.host("server").start(move || async move {
            let Ok(listener) = TcpListener::bind(("0.0.0.0", PORT)).await else {
                return;
            };
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.read_exact(&mut [0; 9]).await;
                let text = vec![7; usize::try_from(octets).unwrap_or(0)];
                let _ = stream.write_all(&text).await;
                let _ = stream.shutdown().await;
                let _ = stream.read(&mut [0]).await;
            }
        });
        let client = net.host("client");
        client.set_link(&link);
        let took = client.run(async move {
            let began = time::elapsed();
            let mut stream = TcpStream::connect(("server", PORT)).await?;
            stream.set_nodelay(true)?;
            stream.write_all(&[b'G'; 9]).await?;
            let mut buffer = vec![0; 256 * 1024];
            let mut left = octets;
            while left > 0 {
                match stream.read(&mut buffer).await? {
                    0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                    more => left = left.saturating_sub(more as u64),
                }
            }
            Ok(time::elapsed() - began)
        });
        let took: std::io::Result<Duration> = took.map_err(|why| why.to_string())?;
        Ok(took.map_err(|why| why.to_string())?.as_secs_f64())
    }

    fn measure(self, transfers: u32, server: &Server, has_linux: &mut bool) -> Result<Row, String> {
        let transfers = if self.loss_percent == 0 { 2 } else { u64::from(transfers).min(ENOUGH / self.octets).max(2) };
        let octets: Vec<u64> = (0..transfers).map(|_| self.octets).collect();
        let path = self.words();
        let behind = Mean::of(&super::one::run(&path, 1, server, PeerAction::Fetch, &octets)?.seconds);
        let runs = if self.loss_percent == 0 { 1 } else { VIRTUAL };
        let virtual_times: Result<Vec<f64>, String> = (1..=runs).map(|seed| self.virtually(seed)).collect();
        let linux = if *has_linux {
            match super::linux::run(&path, 1, PeerAction::Fetch, &octets) {
                Ok(times) => Some(Mean::of(&times)),
                Err(why) => {
                    eprintln!("without Linux at both ends: {why}");
                    *has_linux = false;
                    None
                }
            }
        } else {
            None
        };
        Ok(Row { setting: self, behind, r#virtual: Mean::of(&virtual_times?), linux })
    }
}

pub(super) fn measure(transfers: u32, longest: u64, json: bool) -> Result<(), String> {
    let server = Server::start()?;
    let mut has_linux = true;
    let mut rows = Vec::new();
    for loss_percent in LOSSES {
        for mbit_s in RATES {
            for round_trip_ms in ROUND_TRIPS {
                for octets in SIZES.into_iter().filter(|size| *size <= longest) {
                    let setting = Setting { mbit_s, round_trip_ms, loss_percent, octets };
                    let row = setting.measure(transfers, &server, &mut has_linux)?;
                    eprintln!("{}, {octets} octets: done", setting.words());
                    rows.push(row);
                }
            }
        }
    }
    crate::show::show(&rows, json, table)
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "Mb/s",
        "round trip",
        "loss",
        "octets",
        "behind the path, s",
        "virtual, s",
        "Linux, s",
        "/ virtual",
        "/ Linux",
    ]);
    for row in rows {
        let Setting { mbit_s, round_trip_ms, loss_percent, octets } = row.setting;
        let time = |mean: Mean| {
            if loss_percent == 0 {
                format!("{:.4}", mean.seconds)
            } else {
                format!("{:.3} +- {:.3}", mean.seconds, mean.error)
            }
        };
        let against = |mean: Mean| format!("{:.3}", row.behind.seconds / mean.seconds);
        table.add_row([
            mbit_s.to_string(),
            format!("{round_trip_ms} ms"),
            format!("{loss_percent} %"),
            octets.to_string(),
            time(row.behind),
            time(row.r#virtual),
            row.linux.map_or_else(String::new, time),
            against(row.r#virtual),
            row.linux.map_or_else(String::new, against),
        ]);
    }
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
