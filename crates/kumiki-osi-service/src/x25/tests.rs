use proptest::prelude::*;

use super::*;

#[test]
fn a_number_is_written_as_it_is_read() {
    let number: Number = "12345".parse().unwrap();
    assert_eq!(number.digits().collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert_eq!(number.to_string(), "12345");
    assert_eq!(number.type_and_plan(), None);
    let typed: Number = "1:1:234".parse().unwrap();
    assert_eq!(typed.digits().collect::<Vec<_>>(), [1, 1, 2, 3, 4]);
    assert_eq!(typed.type_and_plan(), Some((1, 1)));
    assert_eq!(typed.to_string(), "1:1:234");
    assert_eq!(Number::NONE.to_string(), "-");
}

#[test]
fn what_is_no_number_is_refused() {
    // Digits beyond 9 may come from a peer; X.121 has none.
    for text in ["12x", "abc", "9a", "1:1:9a", "1 2", "+12"] {
        assert_eq!(text.parse::<Number>(), Err(BadNumber::Text), "{text}");
    }
    for none in ["", "-"] {
        assert_eq!(none.parse::<Number>(), Err(BadNumber::Text), "{none}");
        assert_eq!(Number::or_none(none), Ok(Number::NONE));
    }
    assert_eq!("1:1:".parse::<Number>(), Err(BadNumber::Text));
    assert_eq!(Number::or_none("9a"), Err(BadNumber::Text));
    assert_eq!("1:2".parse::<Number>(), Err(BadNumber::Text));
    assert_eq!("12:1:5".parse::<Number>(), Err(BadNumber::Text));
    assert_eq!("1234567890123456".parse::<Number>(), Err(BadNumber::Long));
    assert!("123456789012345".parse::<Number>().is_ok());
    assert!("1:1:123456789012345".parse::<Number>().is_ok());
    assert_eq!("1:1:1234567890123456".parse::<Number>(), Err(BadNumber::Long));
}

#[test]
fn a_prefix_is_of_the_same_form() {
    let number: Number = "2342123".parse().unwrap();
    for (prefix, fits) in [("", true), ("2342", true), ("2343", false), ("2:3:42", false)] {
        assert_eq!(number.begins_with(&Number::or_none(prefix).unwrap()), fits, "{prefix}");
    }
    assert!(!"23".parse::<Number>().unwrap().begins_with(&number));
}

#[test]
fn a_facility_stands_before_the_markers() {
    let mut facilities = Facilities(vec![Facility::Marker(Marker::Dte)]);
    let window = |n| Facility::Window { called: n, calling: n };
    facilities.set(window(7));
    facilities.set(window(3));
    assert_eq!(facilities.0, [window(3), Facility::Marker(Marker::Dte)]);
    assert_eq!(facilities.window(), Some((3, 3)));
    assert_eq!(facilities.packet_size(), None);
}

#[test]
fn a_cause_depends_on_the_packet() {
    let told = |what, cause| PacketCause { what, cause, diagnostic: 0 };
    assert_eq!(told(CauseField::Clear, 1).to_string(), "cleared: number busy (01), no additional information (0)");
    assert_eq!(told(CauseField::Reset, 1).cause_text(), "out of order");
    assert_eq!(told(CauseField::Restart, 1).cause_text(), "local procedure error");
    assert_eq!(told(CauseField::Clear, 0x85).cause_text(), "DTE originated");
}

proptest! {
    #[test]
    fn digits_and_text_say_the_same(digits in proptest::collection::vec(0_u8..16, 0..20)) {
        match Number::from_digits(digits.iter().copied()) {
            Ok(number) => {
                let back = Number::or_none(&number.to_string());
                let decimal = digits.iter().all(|it| *it < 10);
                prop_assert_eq!(back, if decimal { Ok(number) } else { Err(BadNumber::Text) });
                prop_assert_eq!(number.digits().collect::<Vec<_>>(), digits);
            }
            Err(why) => prop_assert!(why == BadNumber::Long && digits.len() > MOST_DIGITS),
        }
    }

    #[test]
    fn typed_digits_and_text_say_the_same(digits in proptest::collection::vec(0_u8..16, 2..20)) {
        match Number::from_typed_digits(digits.iter().copied()) {
            Ok(number) => {
                let back = number.to_string().parse();
                let decimal = digits.len() > 2 && digits.iter().skip(2).all(|it| *it < 10);
                prop_assert_eq!(back, if decimal { Ok(number) } else { Err(BadNumber::Text) });
                prop_assert_eq!(number.digits().collect::<Vec<_>>(), digits);
            }
            Err(why) => prop_assert!(why == BadNumber::Long && digits.len() > MOST_TYPED_DIGITS),
        }
    }
}
