package v1alpha1

// Reasons of the condition Accepted when it is False, and of Stalled when it is
// True. docs/runbook.md has an entry for each.
const (
	ReasonSourceMissing        = "SourceMissing"
	ReasonSourceReplaced       = "SourceReplaced"
	ReasonSourceNotHealthy     = "SourceNotHealthy"
	ReasonSourceBeingDeleted   = "SourceBeingDeleted"
	ReasonNothingToMove        = "NothingToMove"
	ReasonCountTooLarge        = "CountTooLarge"
	ReasonOrdinalsUnbounded    = "OrdinalsOutOfBounds"
	ReasonRolloutInProgress    = "RolloutInProgress"
	ReasonKindUnsupported      = "KindUnsupported"
	ReasonOwnedByOperator      = "OwnedByOperator"
	ReasonAutoscaled           = "Autoscaled"
	ReasonClaimsDeletedOnScale = "ClaimsDeletedOnScaleDown"
	ReasonSeveralBudgets       = "SeveralBudgets"
	ReasonBudgetZero           = "BudgetZero"
	ReasonBudgetExceeded       = "BudgetExceeded"
	ReasonBudgetInvalid        = "BudgetInvalid"
	ReasonForeignBudget        = "ForeignBudget"
	ReasonBudgetCoversOthers   = "BudgetCoversOthers"
	ReasonBudgetLeavesOut      = "BudgetLeavesPodsOut"
	ReasonSameStatefulSet      = "SameStatefulSet"
	ReasonNamespaceMissing     = "NamespaceMissing"
	ReasonDestinationDiffers   = "DestinationDiffers"
	ReasonDestinationNotEmpty  = "DestinationNotEmpty"
	ReasonDependencyMissing    = "DependencyMissing"
	ReasonDependencyDiffers    = "DependencyDiffers"
	ReasonDependencyChanged    = "DependencyChanged"
	ReasonDependencySelects    = "DependencySelectsOthers"
	ReasonDependencyKept       = "DependencyKept"
	ReasonDependencyNotRead    = "DependencyNotRead"
	ReasonQuotaTooSmall        = "QuotaTooSmall"
	ReasonTrackedByGitOps      = "TrackedByGitOps"
	ReasonDestinationDeleted   = "DestinationBeingDeleted"
	ReasonDestinationMissing   = "DestinationMissing"
	ReasonDestinationReplaced  = "DestinationReplaced"
	ReasonSplitNotAdjacent     = "SplitNotAdjacent"
	ReasonHeldByAnother        = "HeldByAnother"
	ReasonSuperseded           = "Superseded"
	ReasonForeignScale         = "ForeignScale"
	ReasonClusterUnreachable   = "ClusterUnreachable"
	ReasonClusterReplaced      = "ClusterReplaced"
	ReasonKubeConfigMissing    = "KubeConfigMissing"
	ReasonKubeConfigRefused    = "KubeConfigRefused"
	ReasonPermissionMissing    = "PermissionMissing"
	ReasonExportConflict       = "ExportConflict"
	ReasonExportInvalid        = "ExportInvalid"
	ReasonExportUnsupported    = "ExportUnsupported"
	ReasonServiceTaken         = "ServiceTaken"
	ReasonNameImpossible       = "NameImpossible"
	ReasonWriteRefused         = "WriteRefused"
	ReasonAlreadyCompleted     = "AlreadyCompleted"
	ReasonRecoveryUnconfirmed  = "RecoveryNotConfirmed"
	ReasonNothingToRecover     = "NothingToRecover"
	ReasonNoNodeFits           = "NoNodeFits"
	ReasonScheduleInvalid      = "ScheduleInvalid"
	ReasonScheduleNeverOpens   = "ScheduleNeverOpens"
	ReasonWindowTooShort       = "WindowTooShort"
	ReasonWriterNotRead        = "WriterNotRead"
	ReasonWriterHeld           = "WriterHeld"
	ReasonWriterNotPaused      = "WriterNotPaused"
	ReasonWriterWouldRefill    = "WriterWouldRefill"
)

// Reasons of warnings: a migration begins all the same, and its user should know.
const (
	ReasonVersionSkew         = "VersionSkew"
	ReasonHookMayDecommission = "HookMayDecommission"
	ReasonNamesAreLocal       = "NamesAreLocal"
	ReasonBudgetForm          = "BudgetForm"
)

// Reasons of what a migration waits for. Those of a handoff's steps become the reason
// of Stalled when the progress deadline has passed.
const (
	ReasonReplicaUnavailable  = "ReplicaUnavailable"
	ReasonControllerBehind    = "StatefulSetNotObserved"
	ReasonBudgetUnconfirmed   = "BudgetNotConfirmed"
	ReasonPodTerminating      = "PodTerminating"
	ReasonPodRunning          = "PodRunning"
	ReasonClaimInUse          = "ClaimInUse"
	ReasonVolumeAttached      = "VolumeAttached"
	ReasonNameUnread          = "NameNotRead"
	ReasonVolumeUnbound       = "VolumeNotBound"
	ReasonPodNotReady         = "PodNotReady"
	ReasonPodMissing          = "PodMissing"
	ReasonMinReady            = "MinReadySeconds"
	ReasonPaused              = "Paused"
	ReasonQueued              = "Queued"
	ReasonOutsideWindow       = "OutsideWindow"
	ReasonTooManyHandoffs     = "TooManyHandoffs"
	ReasonMoving              = "Moving"
	ReasonRollingBack         = "RollingBack"
	ReasonReady               = "Ready"
	ReasonAwaitingDeletion    = "AwaitingDeletion"
	ReasonDestinationPodFound = "DestinationPodFound"
	ReasonGatePending         = "GatePending"
	ReasonGateFailed          = "GateFailed"
	ReasonGateUnanswered      = "GateUnanswered"
	ReasonGateInvalid         = "GateInvalid"
	ReasonGateTooCostly       = "GateTooCostly"
	ReasonGateResultEmpty     = "GateResultEmpty"
	ReasonHookRunning         = "HookRunning"
	ReasonHookFailed          = "HookFailed"
	ReasonHookTimedOut        = "HookTimedOut"
	ReasonHookRefused         = "HookRefused"
	ReasonHookInvalid         = "HookInvalid"
)

// Reasons of the condition Completed when it is True.
const (
	// ReasonMoved: every ordinal that was asked for runs at the destination.
	ReasonMoved = "Moved"
	// ReasonRolledBack: every ordinal runs at the source again.
	ReasonRolledBack = "RolledBack"
	// ReasonRecovered: every ordinal runs at the source again, on the disks as they had left it,
	// and the destination was not asked.
	ReasonRecovered = "Recovered"
	// ReasonReleased: the Migration was deleted and has let go of both StatefulSets.
	ReasonReleased = "Released"
)
