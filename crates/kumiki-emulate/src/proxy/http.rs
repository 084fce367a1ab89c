//! A proxy of HTTP/1.1: `CONNECT`, and single requests for `http` URIs.
//!
//! | | |
//! |---|---|
//! | Specification | RFC 9110 section 9.3.6 (CONNECT), RFC 9112 sections 3.2.2 and 3.2.4 (forms of a request's target) |
//! | A request for a URI | goes on with the path alone, the `Host` that the URI names whatever the caller's was, and `Connection: close` in the place of what is said of this connection: one on each. Its version stays, for the answer comes back as the server has written it |
//! | A failure | is told with 502 and its reason; what is no such request with 400 |

use std::io;
use std::io::Write as _;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::target::{Host, Target};
use super::{CallerRequest, ReplyStyle};

/// The longest head of a request, and the most fields in it.
const LONGEST: usize = 64 << 10;
const FIELDS: usize = 128;

const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// Fields that are about the connection to this proxy (RFC 9110 section 7.6.1), and are not for the server; and `Host`,
/// which is said anew.
const OWN_FIELDS: [&str; 6] =
    ["connection", "proxy-connection", "proxy-authorization", "keep-alive", "upgrade", "host"];

/// Hears the request; `None` where that was refused, or nobody asked for anything.
pub(super) async fn wish(caller: &mut TcpStream) -> io::Result<Option<CallerRequest>> {
    let mut head = Vec::new();
    loop {
        let known = head.len();
        if caller.read_buf(&mut head).await? == 0 {
            return Ok(None);
        }
        if !is_to_parse(&mut head, known) {
            continue;
        }
        match parse(&head) {
            Ok(Some(wish)) => return Ok(Some(wish)),
            Ok(None) if head.len() < LONGEST => {}
            Ok(None) => return bad(caller, "a head of more than 64 KiB").await,
            Err(why) => return bad(caller, &why).await,
        }
    }
}

/// Whether `head`, of which the octets from `known` on are new, may say more than before: where it begins, where a line
/// has ended, and where it is too long. It would be parsed as often as it has octets otherwise, by a thread that serves
/// others too. Empty lines ahead of it are taken away.
fn is_to_parse(head: &mut Vec<u8>, known: usize) -> bool {
    let empty = head.iter().take_while(|octet| b"\r\n".contains(octet)).count();
    head.drain(..empty);
    let more = head.get(known..).unwrap_or_default();
    !head.is_empty() && (known == 0 || more.contains(&b'\n') || head.len() >= LONGEST)
}

async fn bad(caller: &mut TcpStream, why: &str) -> io::Result<Option<CallerRequest>> {
    respond(
        caller,
        "400 Bad Request",
        &format!("{why}; this is a proxy for CONNECT and for http URIs, and for SOCKS 5\n"),
    )
    .await?;
    Ok(None)
}

/// Tells the caller why there is no connection.
pub(super) async fn refuse(caller: &mut TcpStream, target: &Target, why: &io::Error) -> io::Result<()> {
    respond(caller, "502 Bad Gateway", &format!("{target}: {why}\n")).await
}

async fn respond(caller: &mut TcpStream, status: &str, text: &str) -> io::Result<()> {
    let length = text.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    caller.write_all(format!("{head}{text}").as_bytes()).await
}

/// What `octets` ask for; `None` where they are not all there. `Err` says what is wrong.
fn parse(octets: &[u8]) -> Result<Option<CallerRequest>, String> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let len = match request.parse(octets) {
        Ok(httparse::Status::Complete(len)) => len,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(why) => return Err(format!("no request of HTTP: {why}")),
    };
    let (method, asked) = (request.method.unwrap_or_default(), request.path.unwrap_or_default());
    let rest = octets.get(len..).unwrap_or_default();
    let no_target = || format!("`{asked}` is nothing that {method} could be for");
    if method == "CONNECT" {
        let target = authority(asked, None).ok_or_else(no_target)?;
        return Ok(Some(CallerRequest::Connect {
            target,
            how: ReplyStyle::Http { established: ESTABLISHED, ahead: rest.to_vec() },
        }));
    }
    let Uri { target, authority, path } = uri(asked).ok_or_else(no_target)?;
    let path = match path {
        "" if method == "OPTIONS" => "*".to_owned(),
        _ if path.starts_with('/') => path.to_owned(),
        _ => format!("/{path}"),
    };
    let (version, mut ahead) = (request.version.unwrap_or(1), Vec::new());
    // Into memory, which takes all.
    let _ = write!(ahead, "{method} {path} HTTP/1.{version}\r\nHost: {authority}\r\n");
    let own = own_fields(request.headers);
    for field in request.headers.iter().filter(|field| !own.iter().any(|own| field.name.eq_ignore_ascii_case(own))) {
        let _ = write!(ahead, "{}: ", field.name);
        ahead.extend_from_slice(field.value);
        ahead.extend_from_slice(b"\r\n");
    }
    ahead.extend_from_slice(b"Connection: close\r\n\r\n");
    ahead.extend_from_slice(rest);
    Ok(Some(CallerRequest::Connect { target, how: ReplyStyle::Http { established: b"", ahead } }))
}

/// The fields that are not for the server: those that always are about one connection, and those that `Connection`
/// names.
fn own_fields<'a>(fields: &[httparse::Header<'a>]) -> Vec<&'a str> {
    let options = fields.iter().filter(|field| field.name.eq_ignore_ascii_case("connection"));
    let named = options.filter_map(|field| core::str::from_utf8(field.value).ok()).flat_map(|value| value.split(','));
    named.map(str::trim).chain(OWN_FIELDS).collect()
}

/// A host and a port; without one `port` is meant, if there is one.
fn authority(text: &str, port: Option<u16>) -> Option<Target> {
    // The colon of an address of IPv6 is no port's.
    let (host, found) = match text.rsplit_once(':') {
        Some((host, digits)) if !digits.contains(']') => (host, Some(digits.parse().ok()?)),
        _ => (text, port),
    };
    Some(Target { host: Host::parse(host)?, port: found? })
}

/// An `http` URI.
struct Uri<'a> {
    target: Target,
    /// The host, and the port if it has one.
    authority: &'a str,
    /// What is asked for there, as it stands.
    path: &'a str,
}

fn uri(text: &str) -> Option<Uri<'_>> {
    let scheme = text.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("http://"))?;
    let rest = text.get(scheme.len()..)?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    // Who somebody is stands before an @.
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    Some(Uri { target: authority(host, Some(80))?, authority: host, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connect(octets: &str) -> (String, &'static [u8], String) {
        match parse(octets.as_bytes()) {
            Ok(Some(CallerRequest::Connect { target, how: ReplyStyle::Http { established, ahead } })) => {
                (target.to_string(), established, String::from_utf8(ahead).unwrap())
            }
            Ok(_) => panic!("no connection"),
            Err(why) => panic!("{why}"),
        }
    }

    #[test]
    fn a_tunnel_is_for_a_host_and_a_port() {
        let (target, established, ahead) =
            connect("CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\nhello");
        assert_eq!((target.as_str(), established, ahead.as_str()), ("example.org:443", ESTABLISHED, "hello"));
        assert_eq!(connect("CONNECT [2001:db8::1]:443 HTTP/1.1\r\n\r\n").0, "[2001:db8::1]:443");
        for wrong in ["example.org", "example.org:", "example.org:70000", "http://example.org:80/", "[::1:80"] {
            assert!(parse(format!("CONNECT {wrong} HTTP/1.1\r\n\r\n").as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_request_goes_on_with_its_path() {
        let request = "POST http://example.org:8000/a?b HTTP/1.1\r\nHost: example.org:8000\r\nProxy-Connection: keep-alive\r\nContent-Length: 2\r\n\r\nhi";
        let (target, established, ahead) = connect(request);
        assert_eq!((target.as_str(), established), ("example.org:8000", &b""[..]));
        let expected =
            "POST /a?b HTTP/1.1\r\nHost: example.org:8000\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";
        assert_eq!(ahead, expected);
        for (uri, target, path) in [
            ("http://example.org", "example.org:80", "/"),
            ("HTTP://192.0.2.1?x", "192.0.2.1:80", "/?x"),
            ("http://me@[2001:db8::1]/", "[2001:db8::1]:80", "/"),
        ] {
            let (found, _, ahead) = connect(&format!("GET {uri} HTTP/1.1\r\n\r\n"));
            assert_eq!(found, target);
            assert!(ahead.starts_with(&format!("GET {path} HTTP/1.1\r\n")), "{ahead}");
        }
    }

    #[test]
    fn what_a_caller_says_of_its_connection_does_not_go_on() {
        let request = "GET http://example.org/ HTTP/1.1\r\nConnection: close, X-Hop\r\nconnection: TE\r\nx-hop: 1\r\nTE: trailers\r\n\r\n";
        assert_eq!(connect(request).2, "GET / HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n");
    }

    #[test]
    fn the_server_is_told_the_host_of_the_uri() {
        for (request, ahead) in [
            (
                "GET http://a.example:8000/ HTTP/1.1\r\nHost: b.example\r\nhost: c\r\n",
                "GET / HTTP/1.1\r\nHost: a.example:8000\r\n",
            ),
            ("GET http://me@a.example/ HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: a.example\r\n"),
            ("GET http://[::1]?x HTTP/1.0\r\n", "GET /?x HTTP/1.0\r\nHost: [::1]\r\n"),
            ("OPTIONS http://a.example:80 HTTP/1.1\r\n", "OPTIONS * HTTP/1.1\r\nHost: a.example:80\r\n"),
            ("OPTIONS http://a.example/ HTTP/1.1\r\n", "OPTIONS / HTTP/1.1\r\nHost: a.example\r\n"),
        ] {
            assert_eq!(connect(&format!("{request}\r\n")).2, format!("{ahead}Connection: close\r\n\r\n"));
        }
    }

    #[test]
    fn a_head_is_parsed_where_it_begins_and_where_a_line_has_ended() {
        let (mut head, mut parsed) = (Vec::new(), Vec::new());
        for octet in *b"\r\n\nGET / HTTP/1.1\r\nA: b\r\n\r\n" {
            let known = head.len();
            head.push(octet);
            if is_to_parse(&mut head, known) {
                parsed.push(head.len());
            }
        }
        assert_eq!((head.len(), parsed.as_slice()), (24, &[1, 16, 22, 24][..]));
        let mut long = vec![b'a'; LONGEST];
        assert!(is_to_parse(&mut long, LONGEST - 1));
    }

    #[test]
    fn what_is_not_all_there_is_waited_for_and_what_is_none_is_refused() {
        let whole = "GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n";
        for len in 0..whole.len() {
            assert!(matches!(parse(&whole.as_bytes()[..len]), Ok(None)), "{len}");
        }
        for wrong in [
            "GET / HTTP/1.1\r\n\r\n",
            "GET https://example.org/ HTTP/1.1\r\n\r\n",
            "\x04\x01\0\x50",
            "GET http://é/ HTTP/1.1\r\n\r\n",
        ] {
            let answered = parse(wrong.as_bytes());
            assert!(answered.is_err() || wrong.contains('é'), "{wrong}");
        }
    }
}
