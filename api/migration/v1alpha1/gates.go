package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GatePoint is a point of a migration at which a health gate applies.
//
// +kubebuilder:validation:Enum=BeforeStop;AfterStart;AtEnd
type GatePoint string

// The points of a gate.
const (
	// GateBeforeStop is before an ordinal is stopped where it runs. Its handoff does not start until the gate has
	// passed.
	GateBeforeStop GatePoint = "BeforeStop"
	// GateAfterStart is after an ordinal has become available at its new side. The next ordinal is not stopped, and
	// the migration is not completed, until the gate has passed.
	GateAfterStart GatePoint = "AfterStart"
	// GateAtEnd is after the last ordinal has arrived. The migration is not completed, and can still be rolled back,
	// until the gate has passed.
	GateAtEnd GatePoint = "AtEnd"
)

// GateSide names one of the two sides of a migration.
//
// +kubebuilder:validation:Enum=Source;Destination
type GateSide string

// The sides.
const (
	GateSource      GateSide = "Source"
	GateDestination GateSide = "Destination"
)

// GateRollback selects the effect of a gate while ordinals return to the source.
//
// +kubebuilder:validation:Enum=Warn;Hold
type GateRollback string

// The effects of a gate in a rollback.
const (
	// GateRollbackWarn: it is evaluated and its result is shown, but it holds no ordinal. The destination that the
	// rollback leaves is often the reason why the gate fails.
	GateRollbackWarn GateRollback = "Warn"
	// GateRollbackHold: it holds ordinals on the way back as on the way to the destination.
	GateRollbackHold GateRollback = "Hold"
)

// GateFailure selects the effect of a failed gate while ordinals move to the destination.
//
// +kubebuilder:validation:Enum=Stall;Rollback
type GateFailure string

// The effects of a failed gate.
const (
	// GateFailureStall: the migration stalls, and continues when the gate passes.
	GateFailureStall GateFailure = "Stall"
	// GateFailureRollback: spec.mode is set to Rollback, once, as a user would set it. A gate that has no answer, or
	// is invalid, stalls the migration instead.
	GateFailureRollback GateFailure = "Rollback"
)

// HealthGate is a health check of the application, evaluated repeatedly. The migration does not continue until it
// passes. An ordinal that has been stopped is started regardless of its result.
//
// +kubebuilder:validation:XValidation:rule="[has(self.http), has(self.grpc), has(self.cel), has(self.prometheus), has(self.job)].filter(x, x).size() == 1",message="set exactly one of http, grpc, cel, prometheus and job"
// +kubebuilder:validation:XValidation:rule="!(has(self.http) || has(self.grpc)) || !('AtEnd' in self.at)",message="http and grpc query the pod of one ordinal, and AtEnd there is none: use cel or prometheus AtEnd"
type HealthGate struct {
	// name identifies the gate.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// at lists the points at which it applies: BeforeStop and AfterStart of each ordinal, AtEnd once.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	At []GatePoint `json:"at"`
	// initialDelaySeconds is the delay of the first evaluation after an ordinal has become available, or after all
	// ordinals have moved. Before a stop there is no delay.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	InitialDelaySeconds *int32 `json:"initialDelaySeconds,omitempty"`
	// intervalSeconds is the time between an answer and the next evaluation. A good answer is valid for that time
	// plus timeoutSeconds.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	IntervalSeconds *int32 `json:"intervalSeconds,omitempty"`
	// timeoutSeconds is how long one evaluation may take.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
	// successLimit is how many successive good answers are needed to pass.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	SuccessLimit *int32 `json:"successLimit,omitempty"`
	// failureLimit is how many successive answers may be bad or missing before the migration is reported as stalled.
	// The gate is evaluated further, and the migration continues when it passes.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	FailureLimit *int32 `json:"failureLimit,omitempty"`
	// dryRun evaluates the gate and shows its result in status.gates, but holds nothing.
	// +optional
	DryRun bool `json:"dryRun,omitempty"`
	// onFailure selects the effect of a failure while ordinals move to the destination.
	// +optional
	// +kubebuilder:default=Stall
	OnFailure GateFailure `json:"onFailure,omitempty"`
	// onRollback selects the effect while ordinals return to the source. A Job runs then only with Hold.
	// +optional
	// +kubebuilder:default=Warn
	OnRollback GateRollback `json:"onRollback,omitempty"`
	// http sends a request to an endpoint of the ordinal's pod.
	// +optional
	HTTP *HTTPGate `json:"http,omitempty"`
	// grpc calls the health service of the ordinal's pod (grpc.health.v1).
	// +optional
	GRPC *GRPCGate `json:"grpc,omitempty"`
	// cel evaluates an expression over objects of a side.
	// +optional
	CEL *CELGate `json:"cel,omitempty"`
	// prometheus evaluates a query.
	// +optional
	Prometheus *PrometheusGate `json:"prometheus,omitempty"`
	// job runs a Job.
	// +optional
	Job *JobGate `json:"job,omitempty"`
}

// GateState is the state of a gate at one point.
//
// +kubebuilder:validation:Enum=Pending;Passed;Failed;Unanswered;Invalid
type GateState string

// The states of a gate.
const (
	// GatePending: it has not had enough answers yet, good or bad.
	GatePending GateState = "Pending"
	// GatePassed: the migration may continue.
	GatePassed GateState = "Passed"
	// GateFailed: failureLimit answers were bad.
	GateFailed GateState = "Failed"
	// GateUnanswered: failureLimit evaluations had no answer.
	GateUnanswered GateState = "Unanswered"
	// GateInvalid: it cannot be evaluated as written.
	GateInvalid GateState = "Invalid"
)

// GateStatus is the state of a gate at one point.
type GateStatus struct {
	// name of the gate.
	Name string `json:"name"`
	// at is the point.
	At GatePoint `json:"at"`
	// ordinal that is checked; absent at the end.
	// +optional
	Ordinal *int32 `json:"ordinal,omitempty"`
	// state of the gate.
	State GateState `json:"state"`
	// reason of the last answer that was not good.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`
	// message is the answer at the time when the state changed.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// holds is false for a gate that only warns: in a dry run, or in a rollback.
	Holds bool `json:"holds"`
	// lastTransitionTime is when the state was reached.
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
}

// The defaults of a gate, for objects that no API server has defaulted.
const (
	defaultGateInterval = 10
	defaultGateTimeout  = 5
	defaultSuccessLimit = 1
	defaultFailureLimit = 3
)

func or(value *int32, otherwise int32) int32 {
	if value == nil {
		return otherwise
	}
	return *value
}

// InitialDelay returns the delay of the first evaluation.
func (g HealthGate) InitialDelay() time.Duration {
	return time.Duration(or(g.InitialDelaySeconds, 0)) * time.Second
}

// Interval returns the time between an answer and the next evaluation.
func (g HealthGate) Interval() time.Duration {
	return time.Duration(or(g.IntervalSeconds, defaultGateInterval)) * time.Second
}

// Timeout returns how long one evaluation may take.
func (g HealthGate) Timeout() time.Duration {
	return time.Duration(or(g.TimeoutSeconds, defaultGateTimeout)) * time.Second
}

// Successes returns how many successive good answers are needed to pass.
func (g HealthGate) Successes() int { return int(or(g.SuccessLimit, defaultSuccessLimit)) }

// Failures returns how many successive answers may be bad or missing before the gate has failed.
func (g HealthGate) Failures() int { return int(or(g.FailureLimit, defaultFailureLimit)) }
