use super::*;

/// Octets that make carries everywhere, with some structure lost on no lane.
fn octets() -> Vec<u8> {
    let noise = (0..5000_u32).map(|x| x.wrapping_mul(2_654_435_761).to_be_bytes()[0] | 0xC0);
    noise.chain(std::iter::repeat_n(0xFF, 5000)).chain(std::iter::repeat_n(0, 5000)).collect()
}

/// Lengths around every loop's limits and some between.
fn lengths() -> impl Iterator<Item = usize> {
    (0..1200).chain((1200..5000).step_by(37))
}

#[test]
fn folding_adds_end_around() {
    for (sum, folded) in [(0, 0), (0xFFFF, 0xFFFF), (0x1_0000, 1), (0x1_FFFF, 1), (u64::MAX, 0xFFFF)] {
        assert_eq!(fold(sum), folded);
    }
    assert_eq!(fold(0xFFFF_0000_0001_0000), 1);
}

#[test]
fn a_block_of_ones_leaves_room_in_the_accumulators() {
    let ones = vec![0xFF; BLOCK];
    assert_eq!(fold(wide(&ones)), 0xFFFF);
    assert_eq!(fold(sum_block(&ones)), 0xFFFF);
}

#[test]
fn every_kind_of_vector_gives_the_portable_sum() {
    let octets = octets();
    let mut to = vec![0; octets.len()];
    let starts = [0, 1, 17, 4000, 4999, 9900, 10_000];
    for (start, len) in starts.into_iter().flat_map(|start| lengths().map(move |len| (start, len))) {
        let from = &octets[start..start + len];
        let to = &mut to[start / 2..start / 2 + len];
        let portable = fold(wide(from));
        to.fill(1);
        let sums = (fold(sum_block(from)), fold(copy_block(to, from)));
        assert_eq!(sums, (portable, portable), "start {start}, length {len}");
        assert_eq!(to, from);
        #[cfg(target_arch = "x86_64")]
        #[expect(unsafe_code, reason = "each kind of vector is tried, whatever a caller would be given")]
        {
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the instructions were detected.
                let sum = unsafe { x86::sum_avx2(from) };
                assert_eq!(fold(sum), portable, "start {start}, length {len}");
            }
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx2") {
                // SAFETY: both sets of instructions were detected.
                let sum = unsafe { x86::sum_avx512(from) };
                assert_eq!(fold(sum), portable, "start {start}, length {len}");
            }
        }
    }
}
