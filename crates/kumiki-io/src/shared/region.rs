//! A file in memory, mapped by two processes.
//!
//! | | |
//! |---|---|
//! | Specification | `memfd_create(2)`; `F_SEAL_SHRINK` and `F_SEAL_GROW` of `fcntl(2)` |
//! | Unsafe | the mapping, and that what it maps is seen as words that are read and written as a whole: there is no other way to memory of two processes |

use core::ptr::{self, NonNull};
use core::sync::atomic::AtomicU64;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::ring::Memory;

/// Of a mapped file nobody may cut off a part: whoever touches what is not there any more is killed by `SIGBUS`.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// Memory of several processes, in words of 64 bits that start as zero. It takes room where it was written to.
#[derive(Debug)]
pub struct Region {
    first: NonNull<AtomicU64>,
    words: usize,
    descriptor: OwnedFd,
}

// SAFETY: all that is reached through the pointer are atomics, which any thread may use at any time; the mapping is of
// the process.
#[expect(unsafe_code, reason = "a pointer says nothing of threads")]
unsafe impl Send for Region {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "a pointer says nothing of threads")]
unsafe impl Sync for Region {}

impl Region {
    /// New memory of so many words, one at least.
    ///
    /// # Errors
    /// Those of the operating system: no memory, no more descriptors.
    pub fn create(words: usize) -> io::Result<Self> {
        let descriptor = memfd_create("kumiki", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&descriptor, octets(words)? as u64)?;
        fcntl_add_seals(&descriptor, SEALS)?;
        Self::map(descriptor, words)
    }

    /// Memory that another process has made, of so many words.
    ///
    /// # Errors
    /// `InvalidData` where it is shorter, or can be shortened; those of the operating system.
    pub fn open(descriptor: OwnedFd, words: usize) -> io::Result<Self> {
        let wrong = |why| io::Error::new(io::ErrorKind::InvalidData, why);
        if !fcntl_get_seals(&descriptor)?.contains(SEALS) {
            return Err(wrong("shared memory without the seals that keep its length"));
        }
        let expected = octets(words)? as u64;
        if u64::try_from(fstat(&descriptor)?.st_size) != Ok(expected) {
            return Err(wrong("shared memory of another length than was said"));
        }
        Self::map(descriptor, words)
    }

    #[expect(unsafe_code, reason = "mapping memory is")]
    fn map(descriptor: OwnedFd, words: usize) -> io::Result<Self> {
        let (rights, kind) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a place that the kernel chooses takes nothing from anybody.
        let first = unsafe { mmap(ptr::null_mut(), octets(words)?, rights, kind, &descriptor, 0)? };
        let first = NonNull::new(first.cast()).ok_or_else(|| io::Error::other("memory was mapped at no address"))?;
        Ok(Self { first, words, descriptor })
    }
}

/// In octets: one at least, and no more than there can be.
fn octets(words: usize) -> io::Result<usize> {
    let octets = words.checked_mul(size_of::<u64>()).filter(|octets| (1..=1 << 40).contains(octets));
    octets.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, format!("{words} words of shared memory")))
}

impl Memory for Region {
    #[expect(unsafe_code, reason = "the compiler cannot know how long the mapping is")]
    fn words(&self) -> &[AtomicU64] {
        // SAFETY: `map` has mapped so many words, readable and writable, at the boundary of a page; they stay mapped
        // until `self` is dropped, and cannot become fewer, as the seals say. Every pattern of bits is a word. Other
        // processes change them, and nothing but atomics ever reads them here.
        unsafe { core::slice::from_raw_parts(self.first.as_ptr(), self.words) }
    }
}

impl AsFd for Region {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Drop for Region {
    #[expect(unsafe_code, reason = "unmapping memory is")]
    fn drop(&mut self) {
        // SAFETY: it was mapped by `map`, with this length, and whoever could look at it has borrowed `self`.
        let _ = unsafe { munmap(self.first.as_ptr().cast(), self.words * size_of::<u64>()) };
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use core::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn what_one_writes_the_other_reads() {
        let one = Region::create(1000).unwrap();
        let other = Region::open(one.as_fd().try_clone_to_owned().unwrap(), 1000).unwrap();
        assert_eq!(other.words().len(), 1000);
        one.words()[999].store(7, Ordering::Relaxed);
        assert_eq!(other.words()[999].load(Ordering::Relaxed), 7);
        drop(one);
        assert_eq!(other.words()[999].load(Ordering::Relaxed), 7);
    }

    #[test]
    fn nobody_can_shorten_it_and_what_could_be_shortened_is_refused() {
        let one = Region::create(1000).unwrap();
        assert!(ftruncate(&one, 0).is_err());
        assert!(fcntl_add_seals(&one, SealFlags::WRITE).is_err(), "nor take writing from the other");
        let open = |words| Region::open(one.as_fd().try_clone_to_owned().unwrap(), words);
        assert_eq!(open(1001).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(open(usize::MAX).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert!(Region::create(0).is_err());
        let loose = memfd_create("loose", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&loose, 8000).unwrap();
        assert_eq!(Region::open(loose, 1000).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
