package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AutomaticRollback is the reason why the migration set its mode to Rollback: a gate or a hook with onFailure:
// Rollback has failed.
type AutomaticRollback struct {
	// reason is GateFailed, HookFailed or HookTimedOut.
	// +kubebuilder:validation:MaxLength=253
	Reason string `json:"reason"`
	// by is the gate or the hook that failed, by its name in spec.gates or spec.hooks: "gate NAME" or "hook NAME".
	// +kubebuilder:validation:MaxLength=253
	By string `json:"by"`
	// message describes the failure and its result.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
	// time is when the rollback was decided.
	Time metav1.MicroTime `json:"time"`
}

// Mark returns a value that identifies this rollback. It is the value of AutomaticRollbackAnnotationKey after
// spec.mode was set for it.
func (r AutomaticRollback) Mark() string {
	return r.Time.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)
}
