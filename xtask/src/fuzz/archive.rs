//! Kept inputs of a target: one tar.gz, so that ten thousand files of a few octets are not ten thousand files of the
//! repository.
//!
//! The same inputs give the same octets: entries stand in the order of their names, without times and owners.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::Path;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// Inputs by name.
pub(super) type Inputs = BTreeMap<String, Vec<u8>>;

fn told(path: &Path, why: impl core::fmt::Display) -> String {
    format!("{}: {why}", path.display())
}

/// The inputs in the archive at `path`; none where there is no such file.
pub(super) fn read(path: &Path) -> Result<Inputs, String> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(Inputs::new()),
        Err(why) => return Err(told(path, why)),
    };
    let mut inputs = Inputs::new();
    let mut archive = tar::Archive::new(GzDecoder::new(file));
    for entry in archive.entries().map_err(|why| told(path, why))? {
        let mut entry = entry.map_err(|why| told(path, why))?;
        let name = entry.path().map_err(|why| told(path, why))?.to_string_lossy().into_owned();
        let mut octets = Vec::new();
        entry.read_to_end(&mut octets).map_err(|why| told(path, why))?;
        inputs.insert(name, octets);
    }
    Ok(inputs)
}

/// Writes an archive with `inputs` to `path`, in place of the one that is there.
pub(super) fn write(path: &Path, inputs: &Inputs) -> Result<(), String> {
    let packed = pack(inputs).map_err(|why| told(path, why))?;
    let beside = path.with_extension("new");
    let mut file = File::create(&beside).map_err(|why| told(&beside, why))?;
    file.write_all(&packed).map_err(|why| told(&beside, why))?;
    std::fs::rename(&beside, path).map_err(|why| told(path, why))
}

fn pack(inputs: &Inputs) -> std::io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::best()));
    for (name, octets) in inputs {
        let mut header = tar::Header::new_ustar();
        header.set_size(octets.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, octets.as_slice())?;
    }
    archive.into_inner()?.finish()
}

/// The inputs that are files of `folder`.
pub(super) fn of_folder(folder: &Path) -> Result<Inputs, String> {
    let mut inputs = Inputs::new();
    for entry in std::fs::read_dir(folder).map_err(|why| told(folder, why))? {
        let path = entry.map_err(|why| told(folder, why))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let octets = std::fs::read(&path).map_err(|why| told(&path, why))?;
        inputs.insert(name, octets);
    }
    Ok(inputs)
}

/// Makes `folder` hold `inputs` and nothing else.
pub(super) fn into_folder(inputs: &Inputs, folder: &Path) -> Result<(), String> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(|why| told(folder, why))?;
    }
    std::fs::create_dir_all(folder).map_err(|why| told(folder, why))?;
    for (name, octets) in inputs {
        // An archive from elsewhere writes nowhere but here.
        let name =
            Path::new(name).file_name().ok_or_else(|| told(folder, format!("an input without a name: {name:?}")))?;
        let path = folder.join(name);
        std::fs::write(&path, octets).map_err(|why| told(&path, why))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_out_and_is_packed_to_the_same_octets() {
        let inputs: Inputs = [("b", &[][..]), ("a", &[1, 2, 3]), ("found-it", &[0; 2000])]
            .into_iter()
            .map(|(name, octets)| (name.to_owned(), octets.to_vec()))
            .collect();
        let folder = std::env::temp_dir().join(format!("kumiki-archive-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.tar.gz");
        write(&path, &inputs).unwrap();
        assert_eq!(read(&path).unwrap(), inputs);
        let first = std::fs::read(&path).unwrap();
        into_folder(&inputs, &folder.join("inputs")).unwrap();
        write(&path, &of_folder(&folder.join("inputs")).unwrap()).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), first);
        assert_eq!(read(&folder.join("none")).unwrap(), Inputs::new());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
