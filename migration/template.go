package migration

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/history"
)

// TemplateChange is a change of the source's pod template that the destination lacks.
type TemplateChange struct {
	// Fields are what the two templates differ in; empty: there is no such change.
	Fields string
	// Hash is of the source's template.
	Hash string
}

// templateHash tells a pod template from every other one.
func templateHash(template *corev1.PodTemplateSpec) string {
	data, err := json.Marshal(history.Canonical(template))
	if err != nil {
		return ""
	}
	const enough = 8
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:enough])
}

// templateChange compares both templates. A destination that differs from the template it
// was made of, which its annotation names, differs on purpose: its cluster rewrites what
// it admits, or its owner has changed it there.
func templateChange(source, destination *appsv1.StatefulSet) TemplateChange {
	if source == nil || destination == nil {
		return TemplateChange{}
	}
	from, to := history.Canonical(&source.Spec.Template), history.Canonical(&destination.Spec.Template)
	if equality.Semantic.DeepEqual(from, to) {
		return TemplateChange{}
	}
	hash := templateHash(&source.Spec.Template)
	if destination.Annotations[api.TemplateAnnotationKey] == hash {
		return TemplateChange{}
	}
	return TemplateChange{Fields: listed(differ("spec.template", tree(from), tree(to))), Hash: hash}
}
