package v1alpha1

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// HookPoint is where on a migration's way a hook is run.
//
// +kubebuilder:validation:Enum=BeforeMigration;BeforeOrdinal;AfterOrdinal;AfterMigration
type HookPoint string

// The points of a hook.
const (
	// HookBeforeMigration is before the first ordinal is stopped.
	HookBeforeMigration HookPoint = "BeforeMigration"
	// HookBeforeOrdinal is before an ordinal is stopped where it runs.
	HookBeforeOrdinal HookPoint = "BeforeOrdinal"
	// HookAfterOrdinal is after an ordinal has become available where it has come to: the next one is
	// not stopped, and the migration not completed, before it has ended.
	HookAfterOrdinal HookPoint = "AfterOrdinal"
	// HookAfterMigration is after the last ordinal has come: the migration is not completed, and stays
	// reversible, before it has ended.
	HookAfterMigration HookPoint = "AfterMigration"
)

// OfOrdinal says whether a hook of the point is run for each ordinal.
func (p HookPoint) OfOrdinal() bool { return p == HookBeforeOrdinal || p == HookAfterOrdinal }

// Before says whether a hook of the point is run before something is stopped.
func (p HookPoint) Before() bool { return p == HookBeforeMigration || p == HookBeforeOrdinal }

// HookFailure says what it means that a hook has failed.
//
// +kubebuilder:validation:Enum=Stall;Continue;Rollback
type HookFailure string

// What a failed hook means.
const (
	// HookFailureStall: the migration stalls until somebody has it run again, or skips it.
	HookFailureStall HookFailure = "Stall"
	// HookFailureContinue: the migration goes on as if it had not failed, and status.hooks says that it has.
	HookFailureContinue HookFailure = "Continue"
	// HookFailureRollback: spec.mode becomes Rollback, once, as if somebody had set it. In a rollback it
	// is Stall.
	HookFailureRollback HookFailure = "Rollback"
)

// HookRollback says what a hook does while ordinals go back to the source.
//
// +kubebuilder:validation:Enum=Run;Skip
type HookRollback string

// What a hook does in a rollback.
const (
	// HookRollbackRun: it is run as on the way to the destination, and is told the direction Back.
	HookRollbackRun HookRollback = "Run"
	// HookRollbackSkip: it is not run.
	HookRollbackSkip HookRollback = "Skip"
)

// Hook is a Job that is run once for each ordinal, or once for the migration, in each direction. No ordinal is down
// while it is waited for.
type Hook struct {
	// name tells it from the others.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// point is where it is run: BeforeOrdinal and AfterOrdinal for each ordinal, BeforeMigration and
	// AfterMigration once.
	// +required
	Point HookPoint `json:"point"`
	// side whose cluster runs it, in the namespace of its StatefulSet. Default: what ordinals leave,
	// before; what they come to, after.
	// +optional
	Side GateSide `json:"side,omitempty"`
	// timeoutSeconds is how long its Job may take. Default: what job.spec.activeDeadlineSeconds
	// says, or else 600.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
	// onFailure is what it means that it has failed, or taken too long. One that could not be run stalls.
	// +optional
	// +kubebuilder:default=Stall
	OnFailure HookFailure `json:"onFailure,omitempty"`
	// onRollback is what it does while ordinals go back to the source.
	// +optional
	// +kubebuilder:default=Run
	OnRollback HookRollback `json:"onRollback,omitempty"`
	// job that is run.
	// +required
	Job HookJob `json:"job"`
}

// HookJob is the Job of a hook.
type HookJob struct {
	// spec of the Job. Its containers get the variables SLICESHIFT_HOOK (its name), SLICESHIFT_POINT,
	// SLICESHIFT_ATTEMPT (1, and one more each time that it is run again), SLICESHIFT_DIRECTION
	// (Forward, Back), SLICESHIFT_SIDE (Source, Destination: where it runs), and of what ordinals
	// leave, before, or come to, after: SLICESHIFT_CLUSTER, SLICESHIFT_NAMESPACE,
	// SLICESHIFT_STATEFULSET, SLICESHIFT_POD and SLICESHIFT_ORDINAL, the last two empty for a
	// hook of the migration. Without a restartPolicy its pods are not restarted.
	// +required
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Spec JobSpec `json:"spec"`
}

// Deadline is how long the hook's Job may take.
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

// HookRemedy is what is to be done about a hook that a migration waits for.
//
// +kubebuilder:validation:Enum=Retry;Skip
type HookRemedy string

// What is to be done about a hook.
const (
	// HookRetry: it is run once more, as its spec is now.
	HookRetry HookRemedy = "Retry"
	// HookSkip: it is not waited for any more.
	HookSkip HookRemedy = "Skip"
)

// HookAnswer is how a person has a migration go on after a hook that has failed.
type HookAnswer struct {
	// job is the name of the Job that is answered, as status.hooks has it: the answer counts for that
	// one alone.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Job string `json:"job"`
	// do is what is to be done.
	// +required
	Do HookRemedy `json:"do"`
}

// HookState is where the run of a hook is.
//
// +kubebuilder:validation:Enum=Pending;Running;Succeeded;Failed;TimedOut;Skipped
type HookState string

// The states of a hook's run.
const (
	// HookPending: its Job is to be made.
	HookPending HookState = "Pending"
	// HookRunning: its Job was seen.
	HookRunning HookState = "Running"
	// HookSucceeded: its Job has completed.
	HookSucceeded HookState = "Succeeded"
	// HookFailed: its Job has failed, or is gone without an end that was seen.
	HookFailed HookState = "Failed"
	// HookTimedOut: its Job has taken too long.
	HookTimedOut HookState = "TimedOut"
	// HookSkipped: somebody has had the migration go on without it.
	HookSkipped HookState = "Skipped"
)

// HookRun is one run of a hook. It is kept, so that it is not run twice whatever becomes of its Job:
// those of the migration, and of the ordinal that is next or has come last, in the direction in which
// ordinals go now.
type HookRun struct {
	// name of the hook.
	Name string `json:"name"`
	// point at which it is run.
	Point HookPoint `json:"point"`
	// ordinal for which it is run; absent for one of the migration.
	// +optional
	Ordinal *int32 `json:"ordinal,omitempty"`
	// attempt counts from 1: how often it was run for this.
	Attempt int32 `json:"attempt"`
	// side whose cluster runs it.
	Side GateSide `json:"side"`
	// job is the name of its Job.
	// +kubebuilder:validation:MaxLength=63
	Job string `json:"job"`
	// uid is that of its Job, once it was seen.
	// +optional
	UID types.UID `json:"uid,omitempty"`
	// state of the run.
	State HookState `json:"state"`
	// message says how it has ended, when that was not well.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// lastTransitionTime is when the state was reached.
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
}

// Broke says whether the run has ended, and not well.
func (r HookRun) Broke() bool { return r.State == HookFailed || r.State == HookTimedOut }

// Over says whether nothing is waited for any more of a run of this hook.
func (h Hook) Over(r HookRun) bool {
	return r.State == HookSucceeded || r.State == HookSkipped || r.Broke() && h.OnFailure == HookFailureContinue
}

// leastTimeToLive is how many seconds a Job that has ended must be kept, so that its end is seen.
const leastTimeToLive = 300

// Unfit says why the hook's Job cannot be run as it is written, and what to do about it; empty: it can.
func (h Hook) Unfit() string {
	spec := h.Job.Spec
	if ttl := spec.TTLSecondsAfterFinished; ttl != nil && *ttl < leastTimeToLive {
		return fmt.Sprintf("job.spec.ttlSecondsAfterFinished: the Job may be gone before its end is seen; set at least %d", leastTimeToLive)
	}
	return UnfitJob(spec)
}

// UnfitJob says why no Job can be run as a spec says, and what to do about it; empty: one can.
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
