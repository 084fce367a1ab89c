//! What both ends of TLS need in a simulation: a certificate that is in the repository, and a day on which it is valid.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, RootCertStore, ServerConfig, crypto, version};

/// Certificates are judged by the day; of the machine's clock nothing must be seen. This is a day in 2030.
#[derive(Debug)]
struct Day;

impl TimeProvider for Day {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(1_900_000_000)))
    }
}

/// The certificate of the host "server", signed by itself. Its key is of Ed25519, whose signatures all have one length:
/// so do all messages of the handshake then, whatever keys are drawn for it.
fn certificate() -> Result<CertificateDer<'static>, Box<dyn Error>> {
    Ok(CertificateDer::from_pem_slice(include_bytes!("server.pem"))?)
}

/// The server's side.
pub(crate) fn server() -> Result<ServerConfig, Box<dyn Error>> {
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("server.key.pem"))?;
    let provider = Arc::new(crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_details(provider, Arc::new(Day));
    let builder = builder.with_protocol_versions(&[&version::TLS13])?.with_no_client_auth();
    Ok(builder.with_single_cert(vec![certificate()?], key)?)
}

/// The client's side, which trusts that certificate alone.
pub(crate) fn client() -> Result<ClientConfig, Box<dyn Error>> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate()?)?;
    let provider = Arc::new(crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_details(provider, Arc::new(Day));
    Ok(builder.with_protocol_versions(&[&version::TLS13])?.with_root_certificates(roots).with_no_client_auth())
}
