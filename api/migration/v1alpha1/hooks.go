package v1alpha1

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// HookPoint is a point of a migration at which a hook runs.
//
// +kubebuilder:validation:Enum=BeforeMigration;BeforeOrdinal;AfterOrdinal;AfterMigration
type HookPoint string

// The points of a hook.
const (
	// HookBeforeMigration is before the first ordinal is stopped.
	HookBeforeMigration HookPoint = "BeforeMigration"
	// HookBeforeOrdinal is before an ordinal is stopped where it runs.
	HookBeforeOrdinal HookPoint = "BeforeOrdinal"
	// HookAfterOrdinal is after an ordinal has become available at its new side. The next ordinal is not stopped, and
	// the migration is not completed, before the hook has ended.
	HookAfterOrdinal HookPoint = "AfterOrdinal"
	// HookAfterMigration is after the last ordinal has arrived. The migration is not completed, and can still be
	// rolled back, before the hook has ended.
	HookAfterMigration HookPoint = "AfterMigration"
)

// OfOrdinal reports whether a hook of the point runs for each ordinal.
func (p HookPoint) OfOrdinal() bool { return p == HookBeforeOrdinal || p == HookAfterOrdinal }

// Before reports whether a hook of the point runs before an ordinal is stopped.
func (p HookPoint) Before() bool { return p == HookBeforeMigration || p == HookBeforeOrdinal }

// HookFailure selects the effect of a failed hook.
//
// +kubebuilder:validation:Enum=Stall;Continue;Rollback
type HookFailure string

// The effects of a failed hook.
const (
	// HookFailureStall: the migration stalls until a user retries or skips the hook.
	HookFailureStall HookFailure = "Stall"
	// HookFailureContinue: the migration continues, and status.hooks shows the failure.
	HookFailureContinue HookFailure = "Continue"
	// HookFailureRollback: spec.mode is set to Rollback, once, as a user would set it. In a rollback it is the same
	// as Stall.
	HookFailureRollback HookFailure = "Rollback"
)

// HookRollback selects whether a hook runs while ordinals return to the source.
//
// +kubebuilder:validation:Enum=Run;Skip
type HookRollback string

// The treatment of a hook in a rollback.
const (
	// HookRollbackRun: it runs as on the way to the destination, with the direction Back.
	HookRollbackRun HookRollback = "Run"
	// HookRollbackSkip: it does not run.
	HookRollbackSkip HookRollback = "Skip"
)

// Hook is a Job that runs once for each ordinal, or once for the migration, in each direction. No ordinal is down
// while the migration waits for it.
type Hook struct {
	// name identifies the hook.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// point at which it runs: BeforeOrdinal and AfterOrdinal for each ordinal, BeforeMigration and AfterMigration
	// once.
	// +required
	Point HookPoint `json:"point"`
	// side whose cluster runs it, in the namespace of its StatefulSet. Default: before, the side that ordinals leave;
	// after, the side that they move to.
	// +optional
	Side GateSide `json:"side,omitempty"`
	// timeoutSeconds is how long its Job may take. Default: job.spec.activeDeadlineSeconds, or 600 without it.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
	// onFailure selects the effect of a failure or timeout. A hook that could not run stalls the migration.
	// +optional
	// +kubebuilder:default=Stall
	OnFailure HookFailure `json:"onFailure,omitempty"`
	// onRollback selects whether it runs while ordinals return to the source.
	// +optional
	// +kubebuilder:default=Run
	OnRollback HookRollback `json:"onRollback,omitempty"`
	// job that runs.
	// +required
	Job HookJob `json:"job"`
}

// HookJob is the Job of a hook.
type HookJob struct {
	// spec of the Job. Its containers get the variables SLICESHIFT_HOOK (its name), SLICESHIFT_POINT,
	// SLICESHIFT_ATTEMPT (1, increased with each retry), SLICESHIFT_DIRECTION (Forward, Back) and SLICESHIFT_SIDE
	// (Source, Destination: where it runs). SLICESHIFT_CLUSTER, SLICESHIFT_NAMESPACE, SLICESHIFT_STATEFULSET,
	// SLICESHIFT_POD and SLICESHIFT_ORDINAL describe the side that ordinals leave, before, or move to, after. The
	// last two are empty for a hook of the migration. Without a restartPolicy its pods are not restarted.
	// +required
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Spec JobSpec `json:"spec"`
}

// Deadline returns how long the hook's Job may take.
func (h Hook) Deadline() time.Duration {
	seconds := int64(defaultJobSeconds)
	switch {
	case h.TimeoutSeconds != nil:
		seconds = int64(*h.TimeoutSeconds)
	case h.Job.Spec.ActiveDeadlineSeconds != nil:
		seconds = *h.Job.Spec.ActiveDeadlineSeconds
	}
	return time.Duration(min(seconds, maxJobSeconds)) * time.Second
}

// HookRemedy selects how to continue after a failed hook.
//
// +kubebuilder:validation:Enum=Retry;Skip
type HookRemedy string

// The ways to continue after a failed hook.
const (
	// HookRetry: it runs once more, with its current spec.
	HookRetry HookRemedy = "Retry"
	// HookSkip: the migration does not wait for it any more.
	HookSkip HookRemedy = "Skip"
)

// HookAnswer is a user's decision how to continue after a failed hook.
type HookAnswer struct {
	// job is the name of the failed Job, as in status.hooks. The answer applies to that Job only.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Job string `json:"job"`
	// do is Retry or Skip.
	// +required
	Do HookRemedy `json:"do"`
}

// HookState is the state of a run of a hook.
//
// +kubebuilder:validation:Enum=Pending;Running;Succeeded;Failed;TimedOut;Skipped
type HookState string

// The states of a hook's run.
const (
	// HookPending: its Job is not created yet.
	HookPending HookState = "Pending"
	// HookRunning: its Job was observed.
	HookRunning HookState = "Running"
	// HookSucceeded: its Job has completed.
	HookSucceeded HookState = "Succeeded"
	// HookFailed: its Job has failed, or was deleted before its end was observed.
	HookFailed HookState = "Failed"
	// HookTimedOut: its Job has taken too long.
	HookTimedOut HookState = "TimedOut"
	// HookSkipped: a user decided to continue without it.
	HookSkipped HookState = "Skipped"
)

// HookRun is one run of a hook. It is recorded so that the hook does not run twice, even if its Job is deleted. The
// recorded runs are those of the migration, and of the ordinal that is next or has arrived last, in the current
// direction.
type HookRun struct {
	// name of the hook.
	Name string `json:"name"`
	// point at which it runs.
	Point HookPoint `json:"point"`
	// ordinal for which it runs; absent for a hook of the migration.
	// +optional
	Ordinal *int32 `json:"ordinal,omitempty"`
	// attempt counts the runs of the hook at this point, from 1.
	Attempt int32 `json:"attempt"`
	// side whose cluster runs it.
	Side GateSide `json:"side"`
	// job is the name of its Job.
	// +kubebuilder:validation:MaxLength=63
	Job string `json:"job"`
	// uid of its Job, after that was observed.
	// +optional
	UID types.UID `json:"uid,omitempty"`
	// state of the run.
	State HookState `json:"state"`
	// message describes the end of the run if it did not succeed.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// lastTransitionTime is when the state was reached.
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
}

// Broke reports whether the run has failed or timed out.
func (r HookRun) Broke() bool { return r.State == HookFailed || r.State == HookTimedOut }

// Over reports whether the migration no longer waits for a run of this hook.
func (h Hook) Over(r HookRun) bool {
	return r.State == HookSucceeded || r.State == HookSkipped || r.Broke() && h.OnFailure == HookFailureContinue
}

// leastTimeToLive is how many seconds an ended Job must be kept at least, so that its end is observed.
const leastTimeToLive = 300

// Unfit returns why the hook's Job cannot run as written, and the fix; empty if it can.
func (h Hook) Unfit() string {
	spec := h.Job.Spec
	if ttl := spec.TTLSecondsAfterFinished; ttl != nil && *ttl < leastTimeToLive {
		return fmt.Sprintf("job.spec.ttlSecondsAfterFinished: the Job may be gone before its end is seen; set at least %d", leastTimeToLive)
	}
	return UnfitJob(spec)
}

// UnfitJob returns why a spec is not usable for a Job, and the fix; empty if it is.
func UnfitJob(spec JobSpec) string {
	switch {
	case spec.Unread != nil:
		at := "job.spec"
		if field := spec.Unread.Fault.Field; field != "" {
			at += "." + field
		}
		return fmt.Sprintf("%s holds %s, which no Job can have there (%s); write it as the spec of a Job does: text needs quotes, and a number has none", at, spec.Unread.Fault.Value, spec.Unread.Fault.Why)
	case len(spec.Template.Spec.Containers) == 0:
		return "job.spec has no template with containers; write it as the spec of a Job"
	case spec.Suspend != nil && *spec.Suspend:
		return "job.spec.suspend: a Job that is suspended never ends; remove it"
	case spec.Selector != nil || spec.ManualSelector != nil && *spec.ManualSelector:
		return "job.spec.selector: Jobs of one spec would count each other's pods; remove it, and Kubernetes makes one for each"
	}
	return ""
}
