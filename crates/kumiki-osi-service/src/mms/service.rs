//! What the services are called.

use core::fmt;

/// A service, by its number: the tag of a confirmed service, which is also its bit among the services supported; behind
/// those unconfirmed services and the like, which have only a bit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Service(pub u32);

#[expect(missing_docs, reason = "the names are those of the services")]
impl Service {
    pub const STATUS: Self = Self(0);
    pub const GET_NAME_LIST: Self = Self(1);
    pub const IDENTIFY: Self = Self(2);
    pub const READ: Self = Self(4);
    pub const WRITE: Self = Self(5);
    pub const GET_VARIABLE_ACCESS_ATTRIBUTES: Self = Self(6);
    pub const DEFINE_NAMED_VARIABLE_LIST: Self = Self(11);
    pub const GET_NAMED_VARIABLE_LIST_ATTRIBUTES: Self = Self(12);
    pub const DELETE_NAMED_VARIABLE_LIST: Self = Self(13);
    pub const OBTAIN_FILE: Self = Self(46);
    pub const FILE_OPEN: Self = Self(72);
    pub const FILE_READ: Self = Self(73);
    pub const FILE_CLOSE: Self = Self(74);
    pub const FILE_RENAME: Self = Self(75);
    pub const FILE_DELETE: Self = Self(76);
    pub const FILE_DIRECTORY: Self = Self(77);
    pub const CONCLUDE: Self = Self(83);
    pub const CANCEL: Self = Self(84);
}

impl Service {
    /// The name in the standard, if the number has one.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        NAMES.get(usize::try_from(self.0).ok()?).copied()
    }

    /// An unconfirmed service by its tag.
    #[must_use]
    pub const fn unconfirmed(tag: u32) -> Option<Self> {
        match tag {
            0 => Some(Self(79)),
            1 => Some(Self(78)),
            2 => Some(Self(80)),
            _ => None,
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "service {}", self.0),
        }
    }
}

/// By number.
const NAMES: [&str; 85] = [
    "status",
    "getNameList",
    "identify",
    "rename",
    "read",
    "write",
    "getVariableAccessAttributes",
    "defineNamedVariable",
    "defineScatteredAccess",
    "getScatteredAccessAttributes",
    "deleteVariableAccess",
    "defineNamedVariableList",
    "getNamedVariableListAttributes",
    "deleteNamedVariableList",
    "defineNamedType",
    "getNamedTypeAttributes",
    "deleteNamedType",
    "input",
    "output",
    "takeControl",
    "relinquishControl",
    "defineSemaphore",
    "deleteSemaphore",
    "reportSemaphoreStatus",
    "reportPoolSemaphoreStatus",
    "reportSemaphoreEntryStatus",
    "initiateDownloadSequence",
    "downloadSegment",
    "terminateDownloadSequence",
    "initiateUploadSequence",
    "uploadSegment",
    "terminateUploadSequence",
    "requestDomainDownload",
    "requestDomainUpload",
    "loadDomainContent",
    "storeDomainContent",
    "deleteDomain",
    "getDomainAttributes",
    "createProgramInvocation",
    "deleteProgramInvocation",
    "start",
    "stop",
    "resume",
    "reset",
    "kill",
    "getProgramInvocationAttributes",
    "obtainFile",
    "defineEventCondition",
    "deleteEventCondition",
    "getEventConditionAttributes",
    "reportEventConditionStatus",
    "alterEventConditionMonitoring",
    "triggerEvent",
    "defineEventAction",
    "deleteEventAction",
    "getEventActionAttributes",
    "reportEventActionStatus",
    "defineEventEnrollment",
    "deleteEventEnrollment",
    "alterEventEnrollment",
    "reportEventEnrollmentStatus",
    "getEventEnrollmentAttributes",
    "acknowledgeEventNotification",
    "getAlarmSummary",
    "getAlarmEnrollmentSummary",
    "readJournal",
    "writeJournal",
    "initializeJournal",
    "reportJournalStatus",
    "createJournal",
    "deleteJournal",
    "getCapabilityList",
    "fileOpen",
    "fileRead",
    "fileClose",
    "fileRename",
    "fileDelete",
    "fileDirectory",
    "unsolicitedStatus",
    "informationReport",
    "eventNotification",
    "attachToEventCondition",
    "attachToSemaphore",
    "conclude",
    "cancel",
];
