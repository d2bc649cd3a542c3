package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AutomaticRollback is why a migration was turned back by itself, without a person: a gate or a hook has failed whose
// onFailure is Rollback.
type AutomaticRollback struct {
	// reason is GateFailed, HookFailed or HookTimedOut.
	// +kubebuilder:validation:MaxLength=253
	Reason string `json:"reason"`
	// by is the gate or the hook that has failed, as spec.gates or spec.hooks names it: "gate NAME", or "hook NAME".
	// +kubebuilder:validation:MaxLength=253
	By string `json:"by"`
	// message is what had failed, and what was said of it.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
	// time is when it was decided.
	Time metav1.MicroTime `json:"time"`
}

// Mark tells this rollback from others: the value of AutomaticRollbackAnnotationKey once spec.mode was written for it.
func (r AutomaticRollback) Mark() string {
	return r.Time.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)
}
