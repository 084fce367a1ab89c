use proptest::prelude::*;

use super::*;

/// The transparent form, octet by octet.
fn plainly_stuffed(octets: &[u8], accm: Accm) -> Vec<u8> {
    let mut out = Vec::new();
    stuff_each(octets, accm, &mut out);
    out
}

/// Octets of which many mean something, in runs: lines of which a share that varies is flags, escapes and controls.
fn octets(most: usize) -> impl Strategy<Value = Vec<u8>> {
    let octet = prop_oneof![
        8 => any::<u8>(),
        1 => Just(ESCAPE),
        1 => Just(FLAG),
        1 => 0_u8..0x20,
        2 => Just(0x55),
    ];
    let run = (octet, prop_oneof![4 => 1..3_usize, 1 => 1..70_usize]);
    prop::collection::vec(run, 0..most)
        .prop_map(|runs| runs.into_iter().flat_map(|(octet, count)| std::iter::repeat_n(octet, count)).collect())
}

fn accm() -> impl Strategy<Value = Accm> {
    prop_oneof![Just(Accm::NONE), Just(Accm::ALL), any::<u32>().prop_map(Accm::new)]
}

/// Every call's answer and what came out, of octets given in pieces as large as `cuts` says in turn.
fn unstuffed(
    octets: &[u8],
    cuts: &[usize],
    mut unstuff: impl FnMut(&mut bool, &[u8], &mut Vec<u8>) -> Unstuffed,
) -> (Vec<(Unstuffed, bool)>, Vec<u8>) {
    let (mut escape, mut out, mut answers, mut rest) = (false, Vec::new(), Vec::new(), octets);
    for cut in cuts.iter().cycle() {
        let piece = &rest[..rest.len().min(*cut)];
        let answer = unstuff(&mut escape, piece, &mut out);
        answers.push((answer, escape));
        rest = &rest[answer.taken..];
        if answer.stop == Stop::Full || rest.is_empty() {
            break;
        }
    }
    (answers, out)
}

proptest! {
    #[test]
    fn every_form_stuffs_and_counts_as_the_plain_loop(octets in octets(300), accm in accm(), before in 0..3_usize) {
        let plain = plainly_stuffed(&octets, accm);
        for form in Form::detected() {
            let mut out = vec![1; before];
            stuff(form, &octets, accm, &mut out);
            prop_assert_eq!(&out[before..], &plain, "{}", form.name());
            prop_assert_eq!(octets.len() + escapes(form, &octets, accm), plain.len(), "{}", form.name());
        }
    }

    #[test]
    fn every_form_unstuffs_and_stops_as_the_plain_loop(
        octets in octets(300),
        accm in accm(),
        limit in prop_oneof![Just(usize::MAX), 0..800_usize],
        cuts in prop::collection::vec(1..300_usize, 1..4),
    ) {
        for cuts in [&cuts[..], &[usize::MAX]] {
            let plain = unstuffed(&octets, cuts, |escape, piece, out| unstuff_each(escape, piece, accm, limit, out));
            for form in Form::detected() {
                let got = unstuffed(&octets, cuts, |escape, piece, out| unstuff(form, escape, piece, accm, limit, out));
                prop_assert_eq!(&got, &plain, "{}", form.name());
            }
        }
    }
}
