//! Data, checkpoints, cancelling and restarting.

use kumiki_octets::{Message, Page};
use kumiki_osi_service::ftam::bulk::Restart;
use kumiki_osi_service::ftam::contents::{ContentsType, StringClass};
use kumiki_osi_service::ftam::data::{DataElement, NodeDescriptor, StructuringElement};
use kumiki_osi_service::ftam::file::OpenResponse;
use kumiki_osi_service::ftam::{AttributeNames, Fpdu, Kind, Primitive, oids};

use super::pair::{I, Pair, R, restarting};
use crate::ftam::Config;

/// A file of this type is open.
fn open(config: &Config, contents_type: ContentsType) -> Pair {
    let opened = OpenResponse { contents_type, ..OpenResponse::default() };
    Pair::open(config, &opened)
}

fn binary(config: &Config) -> Pair {
    open(config, ContentsType::binary())
}

/// The end of a transfer, and that of the association.
fn ends_in_order(pair: &mut Pair, sender: usize) {
    pair.plain(sender, Kind::DataEndRequest);
    pair.plain(I, Kind::TransferEndRequest);
    pair.plain(R, Kind::TransferEndResponse);
    for kind in [Kind::CloseRequest, Kind::DeselectRequest] {
        pair.plain(I, kind);
        let response = if kind == Kind::CloseRequest { Kind::CloseResponse } else { Kind::DeselectResponse };
        pair.plain(R, response);
    }
    pair.plain(I, Kind::TerminateRequest);
    pair.plain(R, Kind::TerminateResponse);
    assert_eq!(pair.heard(I).last().unwrap(), "closed");
    assert_eq!(pair.heard(R).last().unwrap(), "closed");
}

#[test]
fn four_megabytes_arrive_as_they_were_and_nobody_copies_them() {
    const VALUE: usize = 8000;
    let whole: Vec<u8> = (0..4_000_000_u32).map(|n| (n % 251) as u8).collect();
    let source = Message::from_page(Page::from(&whole[..]));
    for (sender, kind) in [(I, Kind::WriteRequest), (R, Kind::ReadRequest)] {
        let mut pair = binary(&Config::default());
        pair.plain(I, kind);
        pair.heard(R);
        let receiver = 1 - sender;
        let mut at = 0;
        while at < whole.len() {
            let before = pair.content[receiver].len();
            loop {
                let len = VALUE.min(whole.len() - at);
                if len == 0 || !pair.send(sender, source.share(at, len).unwrap()) {
                    break;
                }
                at += len;
            }
            pair.exchange();
            pair.heard(receiver);
            assert!(pair.content[receiver].len() > before, "no more at {at}");
        }
        while !pair.heard(receiver).is_empty() {}
        assert!(pair.content[receiver].to_vec() == whole);
        let layers = ["ftam", "acse", "presentation", "session", "tp0", "tpkt", "pipe"];
        assert_eq!(pair.copied(&layers), 0);
        assert_eq!(pair.node(sender).counters().data_sent, 500);
        ends_in_order(&mut pair, sender);
    }
}

#[test]
fn strings_are_of_the_documents_type_and_other_elements_go_as_they_are() {
    let text = ContentsType::text(StringClass::General);
    let mut pair = open(&Config::default(), text);
    pair.plain(I, Kind::WriteRequest);
    pair.string(I, "a line\r\n");
    let element = DataElement::Text { class: StringClass::Visible, octets: Message::from_octets(b"another") };
    pair.tell(I, Primitive::Data(element));
    // No octets in a text, and no structure where there is none.
    pair.tell(I, Primitive::Data(DataElement::Octets(Message::new())));
    let node = StructuringElement::Node(NodeDescriptor::default());
    pair.tell(I, Primitive::Data(DataElement::Structuring(node.clone())));
    pair.exchange();
    let heard = ["F-WRITE request", "8 octets", "VisibleString"];
    assert_eq!(pair.heard(R), heard);
    let why = "data that the document has not, or without a context";
    assert_eq!(pair.bench.drops("ftam a", why), 2);

    let lines = ContentsType::Document { name: oids::FTAM_2, parameter: None };
    let mut pair = open(&Config::default(), lines);
    pair.plain(I, Kind::ReadRequest);
    pair.heard(R);
    pair.tell(R, Primitive::Data(DataElement::Structuring(node)));
    pair.string(R, "a record");
    let heard = pair.heard(I);
    assert!(heard[0].starts_with("Node"), "{heard:?}");
    assert_eq!(heard[1..], ["8 octets"]);

    let names = AttributeNames::NONE;
    let mut pair = open(&Config::default(), ContentsType::directory(names));
    pair.plain(I, Kind::ReadRequest);
    let entry = DataElement::Entry(Box::default());
    pair.tell(R, Primitive::Data(entry));
    pair.exchange();
    assert_eq!(pair.heard(I), ["entry"]);
}

#[test]
fn either_side_cancels_and_another_transfer_follows() {
    for config in [Config::default(), restarting(2)] {
        for by in [I, R] {
            let mut pair = binary(&config);
            pair.plain(I, Kind::WriteRequest);
            pair.heard(R);
            pair.take_credit(I);
            // On its way when the responder cancels.
            let sent = pair.send(I, Message::from_octets(&[1; 100]));
            assert!(sent);
            pair.tell(by, super::pair::plain(Kind::CancelRequest));
            pair.exchange();
            let last = pair.heard(1 - by).pop().unwrap();
            assert_eq!(last, "F-CANCEL request");
            pair.plain(1 - by, Kind::CancelResponse);
            assert_eq!(pair.heard(by).last().unwrap(), "F-CANCEL response");
            // What was thrown away has left no hole in credit.
            pair.plain(I, Kind::ReadRequest);
            assert_eq!(pair.heard(R), ["F-READ request"]);
            for _ in 0..20 {
                pair.string(R, "data");
                assert_eq!(pair.heard(I), ["4 octets"]);
            }
            ends_in_order(&mut pair, R);
        }
    }
}

#[test]
fn cancels_that_cross_end_on_both_sides() {
    for (config, resync) in [(Config::default(), false), (restarting(2), true)] {
        let mut pair = binary(&config);
        pair.plain(I, Kind::ReadRequest);
        pair.heard(R);
        for by in [I, R] {
            pair.tell(by, super::pair::plain(Kind::CancelRequest));
        }
        pair.exchange();
        assert_eq!(pair.heard(R), ["F-CANCEL request"]);
        if resync {
            // Session lets the initiator's count.
            assert!(pair.heard(I).is_empty());
        } else {
            assert_eq!(pair.heard(I), ["F-CANCEL request"]);
            pair.plain(I, Kind::CancelResponse);
        }
        pair.plain(R, Kind::CancelResponse);
        for user in [I, R] {
            assert_eq!(pair.heard(user), ["F-CANCEL response"]);
        }
        pair.plain(I, Kind::WriteRequest);
        pair.string(I, "data");
        assert_eq!(pair.heard(R), ["F-WRITE request", "4 octets"]);
        ends_in_order(&mut pair, I);
    }
}

fn restart(checkpoint: i64, response: bool) -> Fpdu {
    let restart = Box::new(Restart { checkpoint_identifier: checkpoint, ..Restart::default() });
    if response { Fpdu::RestartResponse(restart) } else { Fpdu::RestartRequest(restart) }
}

#[test]
fn a_transfer_goes_on_from_a_checkpoint() {
    let check = |identifier| Primitive::Check { identifier };
    let secured = |identifier| Primitive::CheckReply { identifier };
    for (sender, kind) in [(I, Kind::WriteRequest), (R, Kind::ReadRequest)] {
        for by in [I, R] {
            let receiver = 1 - sender;
            let mut pair = binary(&restarting(2));
            pair.plain(I, kind);
            pair.heard(R);
            pair.string(sender, "one");
            pair.tell(sender, check(1));
            pair.string(sender, "three");
            pair.tell(sender, check(2));
            // The window is full.
            pair.tell(sender, check(3));
            pair.exchange();
            let heard = ["3 octets", "check 1", "5 octets", "check 2"];
            assert_eq!(pair.heard(receiver), heard);
            pair.tell(receiver, secured(1));
            pair.exchange();
            assert_eq!(pair.heard(sender), ["secured 1"]);
            // Lost, as something on its way is when it is to begin again.
            pair.take_credit(sender);
            pair.send(sender, Message::from_octets(b"lost"));
            pair.tell(by, restart(1, false));
            pair.exchange();
            let last = pair.heard(1 - by).pop().unwrap();
            assert_eq!(last, "F-RESTART request");
            pair.tell(1 - by, restart(1, true));
            pair.exchange();
            assert_eq!(pair.heard(by).last().unwrap(), "F-RESTART response");
            pair.content[receiver] = Message::new();
            pair.string(sender, "three");
            pair.tell(sender, check(2));
            pair.exchange();
            assert_eq!(pair.heard(receiver), ["5 octets", "check 2"]);
            pair.tell(receiver, secured(2));
            pair.exchange();
            assert_eq!(pair.heard(sender), ["secured 2"]);
            ends_in_order(&mut pair, sender);
            for user in [I, R] {
                assert_eq!(pair.node(user).counters().errors, 0);
            }
        }
    }
}

#[test]
fn restarts_that_cross_are_one() {
    let mut pair = binary(&restarting(2));
    pair.plain(I, Kind::WriteRequest);
    pair.string(I, "one");
    pair.heard(R);
    for by in [I, R] {
        pair.tell(by, restart(0, false));
    }
    pair.exchange();
    assert!(pair.heard(I).is_empty());
    assert_eq!(pair.heard(R), ["F-RESTART request"]);
    pair.tell(R, restart(0, true));
    pair.exchange();
    assert_eq!(pair.heard(I), ["F-RESTART response"]);
    pair.string(I, "one");
    assert_eq!(pair.heard(R), ["3 octets"]);
    ends_in_order(&mut pair, I);
}
