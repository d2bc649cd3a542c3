package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GatePoint is where on a migration's way a health gate is asked.
//
// +kubebuilder:validation:Enum=BeforeStop;AfterStart;AtEnd
type GatePoint string

// The points of a gate.
const (
	// GateBeforeStop is before an ordinal is stopped where it runs: its handoff does not begin
	// until the gate has passed.
	GateBeforeStop GatePoint = "BeforeStop"
	// GateAfterStart is after an ordinal has become available where it has come to: the next one is
	// not stopped, and the migration not completed, until the gate has passed.
	GateAfterStart GatePoint = "AfterStart"
	// GateAtEnd is after the last ordinal has come: the migration is not completed, and stays
	// reversible, until the gate has passed.
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

// GateRollback says what a gate does while ordinals go back to the source.
//
// +kubebuilder:validation:Enum=Warn;Hold
type GateRollback string

// What a gate does in a rollback.
const (
	// GateRollbackWarn: it is asked, and what it answers is shown, and holds nothing: what is
	// taken back is often what makes it fail.
	GateRollbackWarn GateRollback = "Warn"
	// GateRollbackHold: it holds ordinals on their way back as it holds them on their way there.
	GateRollbackHold GateRollback = "Hold"
)

// GateFailure says what it means that a gate has failed while ordinals go to the destination.
//
// +kubebuilder:validation:Enum=Stall;Rollback
type GateFailure string

// What a failure means.
const (
	// GateFailureStall: the migration stalls where it is, and goes on when the gate passes.
	GateFailureStall GateFailure = "Stall"
	// GateFailureRollback: spec.mode becomes Rollback, once, as if somebody had set it. One that is not
	// answered, or cannot be, stalls all the same.
	GateFailureRollback GateFailure = "Rollback"
)

// HealthGate is a question about the application, asked again and again: the migration goes no
// further while the answer is not good. An ordinal that has been stopped is started whatever it
// answers.
//
// +kubebuilder:validation:XValidation:rule="[has(self.http), has(self.grpc), has(self.cel), has(self.prometheus), has(self.job)].filter(x, x).size() == 1",message="exactly one of http, grpc, cel, prometheus and job says what is asked"
// +kubebuilder:validation:XValidation:rule="!(has(self.http) || has(self.grpc)) || !('AtEnd' in self.at)",message="http and grpc ask the pod of one ordinal, and at the end there is none: ask cel or prometheus AtEnd"
type HealthGate struct {
	// name tells it from the others.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// at is where it is asked: BeforeStop and AfterStart of each ordinal, AtEnd once.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	At []GatePoint `json:"at"`
	// initialDelaySeconds is how long after an ordinal has become available, or everything has
	// moved, it is asked for the first time. Before a stop it is asked at once.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	InitialDelaySeconds *int32 `json:"initialDelaySeconds,omitempty"`
	// intervalSeconds is how long after an answer it is asked again. A good answer counts for that
	// long and timeoutSeconds more.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	IntervalSeconds *int32 `json:"intervalSeconds,omitempty"`
	// timeoutSeconds is how long an answer may take.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
	// successLimit is how many good answers in a row it takes to pass.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	SuccessLimit *int32 `json:"successLimit,omitempty"`
	// failureLimit is how many answers in a row may be bad, or missing, before the migration is
	// reported as stalled. It is asked on, and the migration goes on when it passes.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	FailureLimit *int32 `json:"failureLimit,omitempty"`
	// dryRun has it asked, and what it answers shown in status.gates, and holds nothing.
	// +optional
	DryRun bool `json:"dryRun,omitempty"`
	// onFailure is what it means that it has failed while ordinals go to the destination.
	// +optional
	// +kubebuilder:default=Stall
	OnFailure GateFailure `json:"onFailure,omitempty"`
	// onRollback is what it does while ordinals go back to the source. A Job is run then only where it
	// holds them.
	// +optional
	// +kubebuilder:default=Warn
	OnRollback GateRollback `json:"onRollback,omitempty"`
	// http asks an endpoint of the ordinal's pod.
	// +optional
	HTTP *HTTPGate `json:"http,omitempty"`
	// grpc asks the health service of the ordinal's pod (grpc.health.v1).
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

// GateState is where a gate is at one point.
//
// +kubebuilder:validation:Enum=Pending;Passed;Failed;Unanswered;Invalid
type GateState string

// The states of a gate.
const (
	// GatePending: it has not had the answers that it needs, good or bad.
	GatePending GateState = "Pending"
	// GatePassed: it lets the migration go on.
	GatePassed GateState = "Passed"
	// GateFailed: as many answers as it allows were bad.
	GateFailed GateState = "Failed"
	// GateUnanswered: as many questions as it allows had no answer.
	GateUnanswered GateState = "Unanswered"
	// GateInvalid: it cannot be asked as it is written.
	GateInvalid GateState = "Invalid"
)

// GateStatus is where a gate is at one point.
type GateStatus struct {
	// name of the gate.
	Name string `json:"name"`
	// at is the point.
	At GatePoint `json:"at"`
	// ordinal that it is asked about; absent at the end.
	// +optional
	Ordinal *int32 `json:"ordinal,omitempty"`
	// state of it.
	State GateState `json:"state"`
	// reason is of the last answer that was not good.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`
	// message is what it has answered, as it was when the state changed.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// holds is false for one that only warns: in a dry run, or in a rollback.
	Holds bool `json:"holds"`
	// lastTransitionTime is when the state was reached.
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
}

// The defaults of a gate that no API server has filled in.
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

// InitialDelay is how long it waits before its first question.
func (g HealthGate) InitialDelay() time.Duration {
	return time.Duration(or(g.InitialDelaySeconds, 0)) * time.Second
}

// Interval is how long after an answer it is asked again.
func (g HealthGate) Interval() time.Duration {
	return time.Duration(or(g.IntervalSeconds, defaultGateInterval)) * time.Second
}

// Timeout is how long an answer may take.
func (g HealthGate) Timeout() time.Duration {
	return time.Duration(or(g.TimeoutSeconds, defaultGateTimeout)) * time.Second
}

// Successes is how many good answers in a row it takes to pass.
func (g HealthGate) Successes() int { return int(or(g.SuccessLimit, defaultSuccessLimit)) }

// Failures is how many answers in a row may be bad or missing before it has failed.
func (g HealthGate) Failures() int { return int(or(g.FailureLimit, defaultFailureLimit)) }
