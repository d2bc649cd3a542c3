package volumes

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Foreign returns the finalizers that are not Kubernetes' own. Nothing guarantees when their controllers remove
// them.
func Foreign(finalizers []string) []string {
	var found []string
	for _, finalizer := range finalizers {
		domain, _, qualified := strings.Cut(finalizer, "/")
		own := domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io") || domain == "external-attacher"
		if qualified && !own {
			found = append(found, finalizer)
		}
	}
	return found
}

// keeps returns the finalizers that may keep an object after a deletion, and the time at which its deletion was
// requested.
func keeps(object metav1.Object) (finalizers []string, deletedAt int64) {
	at := object.GetDeletionTimestamp()
	if at == nil {
		return Foreign(object.GetFinalizers()), 0
	}
	return KeepersOf(object), at.Unix()
}

// Deletion is an object that is being deleted.
type Deletion struct {
	// Object names it, Keeps lists its finalizers, and Look is the command that shows it.
	Object string
	Keeps  []string
	Look   string
	// At is when its deletion was requested, in seconds since 1970; 0 if it is not known.
	At int64
}

// Message names the object and the finalizers that keep it.
func (d Deletion) Message() string { return "waiting until " + d.waits() }

func (d Deletion) waits() string { return d.Object + " is deleted" + KeptBy(d.Keeps) }

// KeptBy returns the finalizers that keep an object during its deletion, as the end of a sentence that names
// the object.
func KeptBy(finalizers []string) string {
	if len(finalizers) == 0 {
		return ""
	}
	return fmt.Sprintf(": the finalizers %s keep it", strings.Join(finalizers, ", "))
}

// KeepersOf returns the finalizers of an object that is being deleted; none if it is not.
func KeepersOf(object metav1.Object) []string {
	if object.GetDeletionTimestamp() == nil {
		return nil
	}
	return slices.Clone(object.GetFinalizers())
}

// Remedy returns the steps that the user can take.
func (d Deletion) Remedy() string {
	return "see why the controllers of its finalizers do not remove them, and leave the finalizers to these controllers: " + d.Look + "; the migration then continues"
}

// Going returns the deletion in progress of the holding's claim or of its volume; nil if there is none.
func (h Holding) Going() *Deletion {
	switch {
	case h.Claim.Terminating:
		return h.claimDeletion()
	case h.Volume.Found && h.Volume.Terminating:
		return &Deletion{Object: "volume " + h.Volume.Name, Keeps: h.Volume.Keeps, Look: h.Command("get pv %s -o yaml", h.Volume.Name), At: h.Volume.DeletedAt}
	}
	return nil
}

func (h Holding) claimDeletion() *Deletion {
	deletion := &Deletion{Object: fmt.Sprintf("claim %s/%s", h.Ref.Namespace, h.Ref.Name), Look: h.Command("get pvc -n %s %s -o yaml", h.Ref.Namespace, h.Ref.Name), At: h.Claim.DeletedAt}
	deletion.Keeps = slices.Clone(h.Claim.Keeps)
	if len(h.Claim.Users) > 0 {
		deletion.Object += fmt.Sprintf(", which pod %s names,", strings.Join(h.Claim.Users[:min(len(h.Claim.Users), 5)], ", "))
	}
	return deletion
}

// awaitsDeletion waits until an object is deleted.
func awaitsDeletion(d *Deletion) Verdict { return Verdict{Waits: d.waits(), Deletion: d} }

// MayStay returns the problem of a claim that must be deleted while the ordinal is down, and that another
// controller may keep; nil if none does.
func MayStay(h Holding) *Reason {
	foreign := Foreign(h.Claim.Keeps)
	if !h.Claim.Found || len(foreign) == 0 {
		return nil
	}
	return Stalled(
		ReasonForeignFinalizer,
		fmt.Sprintf("claim %s/%s must be deleted while the ordinal is down, and the finalizers %s may keep it", h.Ref.Namespace, h.Ref.Name, strings.Join(foreign, ", ")),
		"let the controllers of these finalizers release the claim: "+h.Command("get pvc -n %s %s -o yaml", h.Ref.Namespace, h.Ref.Name),
	)
}
