use super::*;

const fn span(left: u64, right: u64) -> Span {
    Span { left, right }
}

/// Ten packets of 100 octets, orders 1 to 10.
fn board() -> Board {
    let mut board = Board::default();
    for order in 1..=10 {
        assert_eq!(board.sent(100), order);
    }
    board
}

#[test]
fn what_left_before_the_question_and_is_not_in_the_answer_is_lost() {
    let mut board = board();
    assert_eq!(board.in_flight(), 1000);
    // Packets 3 and 6 are missing; the question was packet 8.
    assert_eq!(board.check(200, &[span(300, 500), span(600, 800)]), Ok(()));
    assert_eq!(board.acknowledge(200), 200);
    assert_eq!(board.cover(span(300, 500)) + board.cover(span(600, 800)), 400);
    assert_eq!(board.judge(8, 0, u64::MAX), 200);
    assert_eq!(board.next_lost(), Some((200, 100)));
    assert_eq!((board.in_flight(), board.una(), board.nxt()), (200, 200, 1000));
    assert_eq!(board.resent(100), 11);
    assert!(board.is_last_lost(100) && !board.is_last_lost(99) && board.has_lost());
    assert_eq!(board.resent(100), 12);
    assert_eq!((board.has_lost(), board.in_flight()), (false, 400));
    // The same answer once more changes nothing: both copies left after it.
    assert_eq!(board.judge(8, 0, u64::MAX), 0);
    assert_eq!(board.acknowledge(1000), 400);
    assert_eq!(board.in_flight(), 0);
}

#[test]
fn packets_that_others_may_have_overtaken_are_not_lost_yet() {
    let mut board = board();
    board.acknowledge(0);
    board.cover(span(300, 1000));
    // Nine have overtaken the first packet, seven the third.
    assert_eq!(board.judge(0, 10, u64::MAX), 0);
    assert_eq!(board.judge(0, 9, u64::MAX), 100);
    assert_eq!(board.judge(0, 8, u64::MAX), 100);
    assert!(board.is_out_before(4) && !board.is_out_before(3));
    assert_eq!(board.judge(0, 0, u64::MAX), 100);
    assert!(!board.is_out_before(11));
}

#[test]
fn of_a_packet_that_was_sent_twice_nobody_knows_which_copy_came() {
    let mut board = board();
    board.cover(span(100, 200));
    assert_eq!(board.judge(0, 0, u64::MAX), 100);
    assert_eq!(board.resent(100), 11);
    // The first copy may have come; nothing is said of those between.
    board.acknowledge(200);
    assert_eq!(board.judge(0, 0, u64::MAX), 0);
}

#[test]
fn reports_that_cannot_be_true_are_refused() {
    let board = board();
    assert_eq!(board.check(1001, &[]), Err(ControlError::NeverSent));
    assert_eq!(board.check(0, &[span(900, 1001)]), Err(ControlError::NeverSent));
    for spans in [
        &[span(100, 100)][..],
        &[span(200, 100)],
        &[span(0, 100)],
        &[span(300, 400), span(200, 250)],
        &[span(300, 400), span(350, 500)],
        &[span(300, 400), span(400, 500)],
    ] {
        assert_eq!(board.check(0, spans), Err(ControlError::Spans), "{spans:?}");
    }
    assert_eq!(board.check(u64::MAX, &[]), Err(ControlError::NeverSent));
}

#[test]
fn spans_of_parts_of_packets_count_when_a_packet_is_whole() {
    let mut board = board();
    assert_eq!(board.cover(span(150, 250)), 0);
    assert_eq!(board.cover(span(150, 350)), 100);
    assert_eq!(board.cover(span(100, 350)), 100);
    assert_eq!(board.acknowledge(50), 50);
    assert_eq!(board.in_flight(), 1000 - 200 - 50);
    assert_eq!(board.judge(4, 0, u64::MAX), 50);
    assert_eq!(board.next_lost(), Some((50, 50)));
}

#[test]
fn a_lost_packet_can_leave_in_parts() {
    let mut board = board();
    board.judge(2, 0, u64::MAX);
    assert_eq!(board.next_lost(), Some((0, 100)));
    assert_eq!(board.resent(60), 11);
    assert_eq!(board.next_lost(), Some((60, 40)));
    assert_eq!(board.resent(40), 12);
    assert_eq!(board.in_flight(), 1000);
    assert_eq!(board.judge(12, 0, u64::MAX), 900 + 60);
    assert_eq!(board.acknowledge(1000), 1000);
}

#[test]
fn go_back_sends_all_again_and_a_handshake_tells_the_truth() {
    let mut board = board();
    board.acknowledge(200);
    board.cover(span(300, 500));
    assert_eq!(board.go_back(), 600);
    assert_eq!((board.in_flight(), board.next_lost()), (0, Some((200, 100))));

    let mut board = self::board();
    board.acknowledge(200);
    board.cover(span(300, 1000));
    // It had said that 300 to 500 came, and now it has not.
    assert_eq!(board.believe(&[span(500, 900)]), 200);
    assert_eq!(board.next_lost(), Some((300, 100)));
    // Without a span nothing above rseq has come.
    assert_eq!(board.believe(&[]), 500);
}

#[test]
fn what_left_before_going_back_starts_nothing() {
    let mut board = board();
    board.acknowledge(200);
    assert_eq!(board.judge(5, 0, u64::MAX), 200);
    board.go_back();
    for order in 11..=18 {
        assert_eq!(board.resent(100), order);
    }
    // The answers to the questions of all packets that were out then: they are of the round trip before.
    for limit in 6..=10 {
        assert_eq!(board.judge(limit, 0, u64::MAX), 0);
        assert_eq!(board.in_flight(), 800);
    }
    assert_eq!(board.judge(14, 0, u64::MAX), 300);
}

#[test]
fn little_pieces_become_packets_when_they_are_sent_again() {
    let mut board = Board::default();
    for _ in 0..100 {
        board.sent(10);
    }
    board.cover(span(500, 510));
    board.judge(100, 0, u64::MAX);
    board.join_lost(64);
    assert_eq!(board.next_lost(), Some((0, 60)));
    board.resent(60);
    board.join_lost(1000);
    assert_eq!(board.next_lost(), Some((60, 440)), "what has come stays");
    board.resent(440);
    assert!(!board.is_last_lost(480));
    board.join_lost(1000);
    assert_eq!(board.next_lost(), Some((510, 480)));
    assert!(board.is_last_lost(480));
    board.resent(480);
    // The last one was out all the time.
    assert_eq!(board.in_flight(), 990);
    assert_eq!(board.acknowledge(1000), 990);
}

#[test]
fn of_what_lies_above_a_list_that_is_cut_short_nothing_is_known() {
    let mut board = board();
    board.cover(span(200, 400));
    // The answer to a question behind all of them.
    assert_eq!(board.judge(11, 0, 400), 200);
    // What is in the dark is not in the way.
    assert_eq!((board.in_flight(), board.next_lost()), (0, Some((0, 100))));
    board.resent(100);
    board.resent(100);
    assert_eq!(board.in_flight(), 200);
    // Some of it has come, and for the rest there is room in the report now.
    assert_eq!(board.acknowledge(550), 350);
    assert_eq!(board.in_flight(), 0);
    assert_eq!(board.cover(span(600, 700)), 100);
    assert_eq!(board.judge(14, 0, 600), 50);
    assert_eq!(board.next_lost(), Some((550, 50)));
    assert_eq!(board.judge(14, 0, u64::MAX), 300);
    assert_eq!(board.acknowledge(1000), 350);
}

#[test]
fn a_report_of_single_octets_is_remembered_as_whole_packets_or_not_at_all() {
    let mut board = board();
    for n in 0..490 {
        assert_eq!(board.cover(span(2 * n + 1, 2 * n + 2)), 0);
    }
    assert!(board.received.is_empty());
    // Two packets, and parts of those beside them.
    assert_eq!(board.cover(span(150, 450)), 200);
    assert_eq!(board.received.iter().collect::<Vec<_>>(), [span(200, 400)]);
    assert_eq!(board.cover(span(100, 500)), 200);
}
