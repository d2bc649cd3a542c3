package volumes

import "time"

// Reason is why nothing is done now: a stable identifier, a message with the finding and its risk, and the remedy.
type Reason struct {
	Reason  string
	Message string
	// Remedy is the action for the user, where there is one.
	Remedy string
	// Stalled is true when something outside the migration must change first.
	Stalled bool
	// TurnBack is true when the spec requests a rollback in this case; By is the gate or hook that requests it.
	TurnBack bool
	By       string
	// Until is when the wait ends although nothing has changed; zero: not known.
	Until time.Time
}

// Stalled returns the reason to wait until something outside the migration has changed.
func Stalled(reason, message, remedy string) *Reason {
	return &Reason{Reason: reason, Message: message, Remedy: remedy, Stalled: true}
}

// Reasons why a volume cannot be carried over.
const (
	ReasonClaimMissing      = "ClaimMissing"
	ReasonClaimNotBound     = "ClaimNotBound"
	ReasonClaimOwned        = "ClaimOwnedByPod"
	ReasonVolumeLost        = "VolumeLost"
	ReasonVolumeNotRetain   = "VolumeNotRetained"
	ReasonForeignClaim      = "ForeignClaim"
	ReasonForeignPod        = "ForeignPod"
	ReasonForeignVolume     = "ForeignVolume"
	ReasonAnotherDisk       = "AnotherDisk"
	ReasonDriverMissing     = "DriverMissing"
	ReasonVolumeOutOfReach  = "VolumeOutOfReach"
	ReasonVolumeIsLocal     = "VolumeIsLocal"
	ReasonVolumeNotAllowed  = "VolumeNotAllowed"
	ReasonDiskUnknown       = "DiskUnknown"
	ReasonClaimDiverges     = "ClaimDiverges"
	ReasonClaimNotShareable = "ClaimNotShareable"
	ReasonReleaseUnseen     = "ReleaseNotSeen"
	ReasonUnknownMethod     = "UnknownMethod"
	ReasonClassMissing      = "StorageClassMissing"
	ReasonResizePending     = "ResizePending"
	ReasonVolumesTooFew     = "VolumesTooFew"
	// Reason for a change of a volume that its driver makes, or cannot make.
	ReasonVolumeChanging = "VolumeChanging"
	// Reason for an object that must be deleted during the move, and that another controller may keep.
	ReasonForeignFinalizer = "ForeignFinalizer"
	// Reasons of method Copy.
	ReasonCopyImageMissing = "CopyImageMissing"
	ReasonCopySizeTooSmall = "CopySizeTooSmall"
	ReasonCopyDiffers      = "CopyDiffers"
	ReasonCopyNotWarm      = "CopyNotWarm"
	ReasonCopyCold         = "CopyCold"
	ReasonCopyStuck        = "CopyStuck"
	ReasonCopyNotEmpty     = "CopyNotEmpty"
	ReasonCopyOverBudget   = "CopyOverBudget"
	ReasonCopyMayNotFit    = "CopyMayNotFitBudget"
	ReasonCopyReadsAll     = "CopyReadsAll"
	ReasonCopyTrusts       = "CopyTrustsUnchanged"
	ReasonCopyAwaitsWord   = "CopyAwaitsWord"
	ReasonCopyNotSealed    = "CopyNotSealed"
	ReasonCopyRelayed      = "CopyRelayed"
	ReasonCopyProvesLater  = "CopyProvesLater"
	ReasonCopyProofDiffers = "CopyProofDiffers"
	ReasonCopyProofUnread  = "CopyProofUnread"
	ReasonCopyUnprovable   = "CopyUnprovable"
	ReasonCopySendsLate    = "CopySendsLate"
	// Reasons of method Snapshot.
	ReasonSnapshotUnsupported  = "SnapshotUnsupported"
	ReasonSnapshotsNotServed   = "SnapshotsNotServed"
	ReasonSnapshotClassMissing = "SnapshotClassMissing"
	ReasonForeignSnapshot      = "ForeignSnapshot"
	ReasonNotRestored          = "NotRestored"
	// Reasons of method Empty: the user's confirmation is missing, or it is a warning.
	ReasonEmptyUnconfirmed  = "EmptyNotConfirmed"
	ReasonFillingUnknown    = "FillingUnknown"
	ReasonReturnUnconfirmed = "ReturnNotConfirmed"
	ReasonStartsEmpty       = "StartsEmpty"
)
