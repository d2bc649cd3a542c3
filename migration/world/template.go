package world

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/jsontree"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/slices/history"
)

// TemplateHash returns a hash that identifies a pod template.
func TemplateHash(template *corev1.PodTemplateSpec) string {
	data, err := json.Marshal(history.Canonical(template))
	if err != nil {
		return ""
	}
	const enough = 8
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:enough])
}

// changeOf compares the pod templates and the claim templates of both sides.
func changeOf(source, destination *appsv1.StatefulSet) plan.TemplateChange {
	change := templateChange(source, destination)
	change.Claims = otherClaims(source, destination)
	return change
}

// templateChange compares both pod templates. A destination that differs from the template that it was created from,
// as its annotation shows, differs intentionally: its cluster changes admitted objects, or its owner has changed it
// there.
func templateChange(source, destination *appsv1.StatefulSet) plan.TemplateChange {
	if source == nil || destination == nil {
		return plan.TemplateChange{}
	}
	from, to := history.Canonical(&source.Spec.Template), history.Canonical(&destination.Spec.Template)
	if equality.Semantic.DeepEqual(from, to) {
		return plan.TemplateChange{}
	}
	hash := TemplateHash(&source.Spec.Template)
	if destination.Annotations[api.TemplateAnnotationKey] == hash {
		return plan.TemplateChange{}
	}
	return plan.TemplateChange{Fields: plan.Listed(jsontree.Differ("spec.template", jsontree.Of(from), jsontree.Of(to))), Hash: hash}
}

// otherClaims describes the claim templates of two StatefulSets if their names differ. They are immutable, but a
// recreated StatefulSet may have others.
func otherClaims(source, destination *appsv1.StatefulSet) string {
	from, to := ClaimTemplates(source), ClaimTemplates(destination)
	if source == nil || destination == nil || slices.Equal(from, to) {
		return ""
	}
	return fmt.Sprintf("%s; the source has %s", cmp.Or(plan.Listed(to), "none"), cmp.Or(plan.Listed(from), "none"))
}
