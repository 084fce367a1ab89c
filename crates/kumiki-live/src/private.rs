//! Files for the eyes of their owner: captures, which have passwords in them, and files of passwords.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read as _, Seek as _, Write};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::OFlags;
use rustix::io::Errno;

/// Rights of a file that nobody else reads.
const OWN: u32 = 0o600;

/// What a file costs beside its octets: so many without any would fill a disk as well.
const FILE: u64 = 4096;

/// The shortest budget of captures by which one begins: a file, its first blocks and some packets.
pub const SHORTEST: u64 = 16 * FILE;

/// The longest file of passwords, in octets.
const LONGEST: u64 = 16 << 20;

/// Makes a file, or empties one, that nobody but its owner can read. A symbolic link is not followed: whoever may make
/// one in that directory would choose what is overwritten.
///
/// # Errors
/// As it happens, in words where it is a link.
pub fn create(path: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or(0);
    let opened = OpenOptions::new().write(true).create(true).truncate(true).mode(OWN).custom_flags(flags).open(path);
    let file = opened.map_err(|why| {
        if Errno::from_io_error(&why) == Some(Errno::LOOP) {
            let text = "it is a symbolic link, and none is followed";
            return io::Error::new(why.kind(), text);
        }
        why
    })?;
    // One that was there keeps its rights.
    let rights = file.metadata()?;
    if rights.is_file() && rights.permissions().mode() & 0o777 != OWN {
        file.set_permissions(Permissions::from_mode(OWN))?;
    }
    Ok(file)
}

/// The text of a file that has secrets, if nobody but its owner can read it. A pipe is nobody else's, nor is what the
/// service manager hands over (`CREDENTIALS_DIRECTORY`, systemd.exec(5)).
///
/// # Errors
/// As it happens, in words where others can read or write it.
pub fn read(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    let found = file.metadata()?;
    let handed = std::env::var_os("CREDENTIALS_DIRECTORY");
    let is_handed = handed.is_some_and(|it| !it.is_empty() && path.starts_with(it));
    let mode = found.permissions().mode() & 0o777;
    if found.is_file() && mode & 0o077 != 0 && !is_handed {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("others can read or change it (its rights are {mode:03o}); chmod 600 {}", path.display()),
        ));
    }
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}

/// So many octets of a capture are written at once.
const AT_ONCE: usize = 8192;

/// How many octets captures may still have, all together and of each packet, and why they have ended.
#[derive(Clone, Debug)]
pub struct CaptureBudget(Arc<Budget>);

#[derive(Debug)]
struct Budget {
    left: AtomicU64,
    /// Of each packet; 0 for all.
    snaplen: u32,
    has_ended: AtomicBool,
    /// What nobody has been told yet.
    remark: Mutex<Option<String>>,
}

impl CaptureBudget {
    /// So many, and of each packet no more than the first `snaplen`, or all where that is 0.
    #[must_use]
    pub fn new(octets: u64, snaplen: u32) -> Self {
        Self(Arc::new(Budget {
            left: AtomicU64::new(octets),
            snaplen,
            has_ended: AtomicBool::new(false),
            remark: Mutex::default(),
        }))
    }

    /// As many as the disk has, of each packet as [`Self::new`] has it.
    #[must_use]
    pub fn endless(snaplen: u32) -> Self {
        Self::new(u64::MAX, snaplen)
    }

    /// How many octets of each packet are kept; 0 for all.
    #[must_use]
    pub fn snaplen(&self) -> u32 {
        self.0.snaplen
    }

    /// Takes so many; where there are fewer nothing is left from then on, so that a capture ends and has no hole.
    fn take(&self, octets: u64) -> bool {
        let left = &self.0.left;
        let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some(left.saturating_sub(octets)));
        let fits = taken.is_ok_and(|left| left >= octets);
        if !fits {
            self.end("they have as many octets as --max-pcap lets them have");
        }
        fits
    }

    /// Has all captures end for this reason, of which the first is told. What is captured goes on.
    pub fn end(&self, why: &str) {
        self.0.left.store(0, Ordering::Relaxed);
        if !self.0.has_ended.swap(true, Ordering::SeqCst) {
            let remark = format!("captures end here: {why}");
            *self.0.remark.lock().unwrap_or_else(PoisonError::into_inner) = Some(remark);
        }
    }

    /// That captures have ended, and why: once.
    #[must_use]
    pub fn remark(&self) -> Option<String> {
        // Looked at after each pass, by many.
        if !self.0.has_ended.load(Ordering::SeqCst) {
            return None;
        }
        self.0.remark.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A capture file for its owner alone, which ends behind the last block that there was room for: by the budget, or on
/// the disk. Writing to it never fails, as what is captured is worth more than its capture; [`CaptureBudget::remark`]
/// tells that it has ended.
#[derive(Debug)]
pub struct PrivateCapture {
    path: PathBuf,
    file: File,
    budget: CaptureBudget,
    /// What has come of a block.
    block: Vec<u8>,
    /// Blocks that are not written yet, and where each ends.
    whole: Vec<u8>,
    ends: Vec<usize>,
    /// Numbers are written with the last octet first.
    is_little: bool,
    is_over: bool,
}

impl PrivateCapture {
    /// Begins one. None where no room is left for a file.
    ///
    /// # Errors
    /// As [`create`].
    pub fn create(path: &Path, budget: &CaptureBudget) -> io::Result<Option<Self>> {
        if !budget.take(FILE) {
            return Ok(None);
        }
        Ok(Some(Self {
            path: path.to_owned(),
            file: create(path)?,
            budget: budget.clone(),
            block: Vec::new(),
            whole: Vec::new(),
            ends: Vec::new(),
            is_little: cfg!(target_endian = "little"),
            is_over: false,
        }))
    }

    /// How long the block is that has begun, as far as it says so: the second word of a block of pcapng is its length,
    /// the third of a section its byte order.
    fn length(&mut self) -> Option<usize> {
        /// A section header block.
        const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
        let (kind, rest) = self.block.split_first_chunk::<4>()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        if *kind == SECTION {
            let (magic, _) = rest.split_first_chunk::<4>()?;
            self.is_little = *magic == [0x4d, 0x3c, 0x2b, 0x1a];
        }
        let length = if self.is_little { u32::from_le_bytes(*length) } else { u32::from_be_bytes(*length) };
        usize::try_from(length.max(12)).ok()
    }

    /// Writes the blocks that there are. Where the file takes no more, the part of a block that it took is cut off.
    fn put(&mut self) {
        let mut written = 0;
        let mut refused = None;
        while let Some(rest) = self.whole.get(written..).filter(|rest| !rest.is_empty()) {
            match self.file.write(rest) {
                Ok(0) => refused = Some(io::ErrorKind::WriteZero.into()),
                Ok(count) => written += count,
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => refused = Some(why),
            }
            if refused.is_some() {
                break;
            }
        }
        if let Some(why) = refused {
            let within = self.ends.iter().rev().find(|end| **end <= written);
            let beyond = written.saturating_sub(within.copied().unwrap_or(0));
            // A pipe keeps what it has.
            if let Ok(at) = self.file.stream_position() {
                let _ = self.file.set_len(at.saturating_sub(beyond as u64));
            }
            self.is_over = true;
            self.block = Vec::new();
            self.budget.end(&format!("{}: {why}", self.path.display()));
        }
        self.whole.clear();
        self.ends.clear();
    }
}

impl Drop for PrivateCapture {
    fn drop(&mut self) {
        self.put();
    }
}

impl Write for PrivateCapture {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        if self.is_over {
            return Ok(octets.len());
        }
        self.block.extend_from_slice(octets);
        while let Some(length) = self.length() {
            let Some((whole, rest)) = self.block.split_at_checked(length) else {
                break;
            };
            if !self.budget.take(length as u64) {
                self.is_over = true;
                self.block = Vec::new();
                break;
            }
            self.whole.extend_from_slice(whole);
            self.ends.push(self.whole.len());
            self.block = rest.to_vec();
        }
        if self.whole.len() >= AT_ONCE {
            self.put();
        }
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.put();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use kumiki_pcapng::{LinkType, Packet, PcapNg};

    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("kumiki-private-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn what_is_made_is_its_owners_and_no_link_is_followed() {
        let folder = folder("made");
        let path = folder.join("x");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        drop(create(&path).unwrap());
        assert_eq!((mode(&path), path.metadata().unwrap().len()), (0o600, 0));
        std::os::unix::fs::symlink(&path, folder.join("link")).unwrap();
        let why = create(&folder.join("link")).unwrap_err().to_string();
        assert!(why.contains("symbolic link"), "{why}");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_others_can_read_is_refused() {
        let folder = folder("read");
        let path = folder.join("x");
        std::fs::write(&path, "secret").unwrap();
        for (mode, well) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false)] {
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            assert_eq!(read(&path).is_ok(), well, "{mode:o}");
        }
        let why = read(&path).unwrap_err().to_string();
        assert!(why.contains("604") && why.contains("chmod 600"), "{why}");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn captures_end_behind_a_whole_block_and_new_ones_are_not_begun() {
        let folder = folder("bound");
        let budget = CaptureBudget::new(3 * FILE, 0);
        let mut lengths = Vec::new();
        for number in 0..100 {
            let path = folder.join(number.to_string());
            let Some(kept) = PrivateCapture::create(&path, &budget).unwrap() else {
                assert!(!path.exists());
                continue;
            };
            let mut capture = PcapNg::new(kept).unwrap();
            let interface = capture.add_interface("x", LinkType::RawIp, 0).unwrap();
            for _ in 0..50 {
                let packet = Packet { at_ns: 0, octets: &[7; 101], original_len: 101, direction: None, comment: None };
                capture.write_packet(interface, &packet).unwrap();
            }
            capture.finish().unwrap().flush().unwrap();
            let octets = std::fs::read(&path).unwrap();
            assert_eq!(mode(&path), 0o600);
            is_whole(&octets);
            lengths.push(octets.len() as u64);
        }
        assert!((1..=2).contains(&lengths.len()));
        assert!(lengths.iter().sum::<u64>() <= 2 * FILE);
        assert!(budget.remark().is_some_and(|it| it.contains("--max-pcap")));
        assert_eq!(budget.remark(), None);
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// Blocks follow each other to the end; how many there are.
    fn is_whole(octets: &[u8]) -> usize {
        let (mut rest, mut blocks) = (octets, 0);
        while let Some((_, after)) = rest.split_first_chunk::<4>() {
            let length = u32::from_le_bytes(after[..4].try_into().unwrap());
            rest = &rest[length as usize..];
            blocks += 1;
        }
        assert!(rest.is_empty());
        blocks
    }

    /// A limit on the length of files stands for a disk that is full: both take a part of what is written, and then
    /// nothing.
    #[test]
    fn what_the_disk_does_not_take_ends_the_capture_and_nothing_else() {
        const NAME: &str = "private::tests::what_the_disk_does_not_take_ends_the_capture_and_nothing_else";
        let folder = folder("full");
        let path = folder.join("x");
        if std::env::var_os("KUMIKI_FULL").is_none() {
            // The limit is of a process, so it gets one of its own. Blocks of 512 octets.
            let own = std::env::current_exe().unwrap();
            let limited = format!("trap '' XFSZ; ulimit -f 20; exec '{}' --exact {NAME}", own.display());
            let ran = std::process::Command::new("sh").args(["-c", &limited]).env("KUMIKI_FULL", "1").output().unwrap();
            assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
            return;
        }
        let budget = CaptureBudget::endless(0);
        let mut capture = PcapNg::new(PrivateCapture::create(&path, &budget).unwrap().unwrap()).unwrap();
        let interface = capture.add_interface("x", LinkType::RawIp, 0).unwrap();
        for number in 0..200 {
            let packet = Packet { at_ns: number, octets: &[7; 101], original_len: 101, direction: None, comment: None };
            capture.write_packet(interface, &packet).unwrap();
        }
        capture.finish().unwrap().flush().unwrap();
        let octets = std::fs::read(&path).unwrap();
        assert!(is_whole(&octets) > 50 && octets.len() < 20 * 512, "{}", octets.len());
        let remark = budget.remark().unwrap();
        assert!(remark.contains("File too large"), "{remark}");
        assert_eq!(budget.remark(), None);
        // Others are not begun.
        assert!(PrivateCapture::create(&folder.join("y"), &budget).unwrap().is_none());
        assert!(!folder.join("y").exists());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
