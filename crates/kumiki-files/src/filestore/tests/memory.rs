//! The store in memory beside plain octets.

use proptest::prelude::*;

use super::*;

proptest! {
    /// Writes that go on, that overwrite, and that have no room; reads anywhere.
    #[test]
    fn it_keeps_what_was_written_and_what_is_refused_changes_nothing(
        writes in prop::collection::vec((any::<prop::sample::Index>(), 0usize..40, any::<bool>()), 1..80),
        reads in prop::collection::vec((any::<prop::sample::Index>(), 0usize..100), 1..10),
    ) {
        let (quota, user) = (600, User::default());
        let mut store = Memory::new().with_quota(quota as u64);
        store.put(&name("a"), ContentsType::binary(), Message::new(), today());
        let (file, _) = store.write_to(&user, &name("a"), Start::Replace).unwrap();
        let mut octets: Vec<u8> = Vec::new();
        for (n, (at, len, on)) in writes.into_iter().enumerate() {
            let at = if on { octets.len() } else { at.index(octets.len() + 1) };
            let data = vec![u8::try_from(n).unwrap(); len];
            let done = store.write(file, at as u64, Message::from_octets(&data)).is_ok();
            prop_assert_eq!(done, at + len <= quota);
            if done {
                octets.truncate(at);
                octets.extend(data);
            }
        }
        for (at, most) in reads {
            let at = at.index(octets.len() + 1);
            let read = store.read(file, at as u64, most).unwrap().to_vec();
            prop_assert_eq!(&read, &octets[at..octets.len().min(at + most)]);
        }
        store.commit(&user, file, today()).unwrap();
        prop_assert_eq!(store.contents(&name("a")).unwrap().to_vec(), octets);
    }
}
