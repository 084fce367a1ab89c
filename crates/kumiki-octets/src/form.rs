//! Which instructions a kernel is made of, chosen at run time.
//!
//! A kernel gives the same octets in every form; the choice is one of speed. Some are written once and compiled for
//! each form, with vectors that the compiler makes ([`Form::run`]); others are written with the instructions
//! themselves.

use std::sync::LazyLock;

/// The instructions that a kernel may use. A value exists only where the machine has them.
///
/// The functions of [`crate::hdlc`], [`crate::scramble`] and [`crate::bip`] take the best one; tests and benchmarks
/// name one themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form(Kind);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Vbmi2,
}

static BEST: LazyLock<Form> = LazyLock::new(|| Form::detected().last().unwrap_or(Form::PORTABLE));

impl Form {
    /// What every machine has.
    pub const PORTABLE: Self = Self(Kind::Portable);

    /// The fastest form of this machine.
    #[must_use]
    #[inline]
    pub fn best() -> Self {
        *BEST
    }

    /// Every form that this machine has, the fastest last.
    pub fn detected() -> impl Iterator<Item = Self> {
        [
            Some(Self::PORTABLE),
            #[cfg(target_arch = "x86_64")]
            (is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("popcnt"))
            .then_some(Self(Kind::Avx2)),
            #[cfg(target_arch = "x86_64")]
            (is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("popcnt")
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vbmi")
                && is_x86_feature_detected!("avx512vbmi2"))
            .then_some(Self(Kind::Vbmi2)),
        ]
        .into_iter()
        .flatten()
    }

    /// What it is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self.0 {
            Kind::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Kind::Vbmi2 => "AVX-512 VBMI2",
        }
    }

    pub(crate) const fn kind(self) -> Kind {
        self.0
    }

    /// Whether its vectors have 64 octets.
    pub(crate) const fn is_wide(self) -> bool {
        match self.0 {
            Kind::Portable => false,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => false,
            #[cfg(target_arch = "x86_64")]
            Kind::Vbmi2 => true,
        }
    }

    /// Does `work`, compiled for this form.
    #[inline]
    #[cfg_attr(
        target_arch = "x86_64",
        expect(unsafe_code, reason = "the vector instructions may be used only where they exist")
    )]
    pub(crate) fn run<W: Work>(self, work: W) -> W::Output {
        match self.0 {
            Kind::Portable => work.run(),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a form of this kind exists only where its instructions were detected.
            Kind::Avx2 => unsafe { with_avx2(work) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Kind::Vbmi2 => unsafe { with_vbmi2(work) },
        }
    }
}

/// What is written once and compiled for each form: `run` and all that it calls are to be inlined always. A closure
/// cannot ask for that.
pub(crate) trait Work {
    /// What comes of it.
    type Output;

    /// Does it.
    fn run(self) -> Self::Output;
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn with_avx2<W: Work>(work: W) -> W::Output {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2")]
fn with_vbmi2<W: Work>(work: W) -> W::Output {
    work.run()
}
