package storage

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/migration/view"
	"github.com/sliceshift/sliceshift/volumes/drift"
)

// report is the result for programs: the StatefulSets that have a claim that is not as its template, or cannot be compared.
type report struct {
	// Checked counts all that were compared.
	Checked checked `json:"checked"`
	Items   []item  `json:"items"`
}

type checked struct {
	StatefulSets int `json:"statefulSets"`
	Claims       int `json:"claims"`
}

// item is a StatefulSet, with those of its claims that are not as their templates.
type item struct {
	APIVersion string `json:"apiVersion"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	// Owner is the controller of the StatefulSet, which writes its templates.
	Owner  *owner        `json:"owner,omitempty"`
	Claims []judgedClaim `json:"claims"`

	resource string
}

type owner struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

// judgedClaim is a claim and its comparison.
type judgedClaim struct {
	Name     string       `json:"name"`
	Template string       `json:"template"`
	Ordinal  int32        `json:"ordinal"`
	Needs    drift.Need   `json:"needs"`
	Volume   string       `json:"volume,omitempty"`
	Differs  []difference `json:"differences,omitempty"`
	Unknown  []drift.Note `json:"unknown,omitempty"`
	Ignored  []drift.Note `json:"ignored,omitempty"`
}

// difference is a difference, and the command that removes it; empty if no single command does.
type difference struct {
	drift.Difference
	Command string `json:"command,omitempty"`
}

// newReport compares all claims. Commands begin with kubectl, which names the cluster.
func newReport(all found, kubectl shell.Kubectl) report {
	r := report{Checked: checked{StatefulSets: len(all.sets)}, Items: []item{}}
	for _, set := range all.sets {
		r.Checked.Claims += len(set.claims)
		if next := newItem(set, all.classes, kubectl); len(next.Claims) > 0 {
			r.Items = append(r.Items, next)
		}
	}
	slices.SortFunc(r.Items, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.APIVersion, b.APIVersion))
	})
	return r
}

// newItem compares the claims of a set, in the order of templates and ordinals.
func newItem(set *statefulSet, classes drift.Classes, kubectl shell.Kubectl) item {
	next := item{APIVersion: set.kind.APIVersion(), Namespace: set.Namespace, Name: set.Name, resource: set.kind.Resource()}
	if ref := metav1.GetControllerOf(set); ref != nil {
		next.Owner = &owner{ref.APIVersion, ref.Kind, ref.Name}
	}
	for i := range set.claims {
		if judged := judge(set, &set.claims[i], classes, kubectl); len(judged.Differs)+len(judged.Unknown) > 0 {
			next.Claims = append(next.Claims, judged)
		}
	}
	order := func(c judgedClaim) int {
		return slices.IndexFunc(set.Spec.VolumeClaimTemplates, func(t corev1.PersistentVolumeClaim) bool { return t.Name == c.Template })
	}
	slices.SortFunc(next.Claims, func(a, b judgedClaim) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(a.Ordinal, b.Ordinal))
	})
	return next
}

// judge compares a claim. Where a controller writes claims or templates, no command is needed, or it would be reverted.
func judge(set *statefulSet, c *claim, classes drift.Classes, kubectl shell.Kubectl) judgedClaim {
	result := drift.Compare(c.Pair, classes)
	judged := judgedClaim{Name: c.Claim.Name, Template: c.Template.Name, Ordinal: c.ordinal, Volume: c.Claim.Spec.VolumeName, Unknown: result.Unknown, Ignored: result.Ignored}
	judged.Needs = result.Needs()
	for _, d := range result.Differences {
		next := difference{Difference: d}
		switch {
		case d.Needs == drift.Expand && set.grows:
			next.Reason = "the controller of the StatefulSet grows the claim (volumeClaimUpdateStrategy)"
		case metav1.GetControllerOf(set) == nil:
			next.Command = commandFor(d, c, kubectl)
		}
		judged.Differs = append(judged.Differs, next)
	}
	return judged
}

// commandFor returns the command that lets a claim follow its template in place; empty if none does.
func commandFor(d drift.Difference, c *claim, kubectl shell.Kubectl) string {
	spec := map[string]any{}
	switch d.Needs {
	case drift.Expand:
		spec["resources"] = map[string]any{"requests": map[string]any{"storage": d.Template}}
	case drift.Modify:
		spec["volumeAttributesClassName"] = d.Template
	default:
		return ""
	}
	patch, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		return ""
	}
	return kubectl.Do("patch", "pvc", "-n", c.Claim.Namespace, c.Claim.Name, "-p", string(patch))
}

// none returns the message of a report without items.
func (r report) none(where, cluster string) string {
	if r.Checked.StatefulSets == 0 {
		return fmt.Sprintf("No StatefulSet found in %s of cluster %s.", where, cluster)
	}
	return fmt.Sprintf("%s of %s in cluster %s compared: none differs from its template.", view.Count(r.Checked.Claims, "claim"), view.Count(r.Checked.StatefulSets, "StatefulSet"), cluster)
}
