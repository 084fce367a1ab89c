//! One connection: of the program to the gateway, and of this host to where it leads.

use kumiki_net::host::{Refusal, TcpOffer};
use tokio::io::copy_bidirectional_with_sizes;
use tokio::net::TcpStream;

use super::Places;

/// Octets that may be between the two, in each direction.
const BUFFER: usize = 64 << 10;

/// Serves `offer` until both directions have ended.
pub(super) async fn relay(offer: TcpOffer, places: &Places) {
    let Some(place) = places.of(offer.destination()) else {
        offer.refuse(Refusal::Reset);
        return;
    };
    let connected = tokio::select! {
        connected = TcpStream::connect(place) => connected,
        () = offer.withdrawn() => return,
    };
    let mut host = match connected {
        Ok(host) => host,
        Err(why) => {
            offer.refuse(Refusal::from(&why));
            return;
        }
    };
    // The program decides about small segments: its own come as it has sent them.
    let _ = host.set_nodelay(true);
    let Ok(mut program) = offer.accept() else {
        // It has given up meanwhile.
        let _ = host.set_zero_linger();
        return;
    };
    let _ = program.set_nodelay(true);
    // Hands on the end of each direction when it has come.
    let copied = copy_bidirectional_with_sizes(&mut program, &mut host, BUFFER, BUFFER).await;
    if copied.is_err() {
        // One of them was reset, and so is the other.
        let _ = host.set_zero_linger();
        let _ = program.set_zero_linger();
    }
}
