// Package outlook shows a change of the storage of a StatefulSet in place before its first write: for each ordinal and claim
// the difference, the work, the bytes and the outage, and the findings against it. It is pure. Package inplace decides the
// steps of the change itself.
package outlook

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/view"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/drift"
)

// State is the observed state, and what its user wants. A list that could not be read is nil.
type State struct {
	// Cluster names the cluster in messages, and Kubectl builds commands for it.
	Cluster string
	Kubectl shell.Kubectl
	// Set is the StatefulSet, and Resource the name of its kind for kubectl. Updates is true if claim templates of that kind
	// change by an update of the set.
	Set      *appsv1.StatefulSet
	Resource string
	Updates  bool
	// Volumes are those of the spec, and MarginPercent is that of spec.storage.
	Volumes       []api.VolumeSpec
	MarginPercent int32
	// Claims are those of the ordinals of the set, ascending by ordinal, each in the order of the templates.
	Claims  []Claim
	Classes drift.Classes
	Nodes   []corev1.Node
	// Outage holds the parts that were measured so far.
	Outage volumes.Outage
}

// Claim is the claim of an ordinal and a template.
type Claim struct {
	Ordinal int32
	// Name is the name that the StatefulSet controller gives it.
	Name string
	// Found is the claim, and Volume its volume; nil if it does not exist.
	Found  *corev1.PersistentVolumeClaim
	Volume *corev1.PersistentVolume
	// Template is the wanted template.
	Template *corev1.PersistentVolumeClaim
	// Used is the number of bytes in use; 0 if it was not measured.
	Used int64
}

// Plan is the outlook, for output as text, JSON or YAML.
type Plan struct {
	Cluster     string `json:"cluster"`
	Namespace   string `json:"namespace"`
	StatefulSet string `json:"statefulSet"`
	// Templates are the changes of the claim templates. If there is one, either Recreated is true, and the set is recreated
	// once, or Updated, and the set is updated once.
	Templates []Template `json:"claimTemplates"`
	Recreated bool       `json:"recreated"`
	Updated   bool       `json:"updated,omitempty"`
	// Ordinals are those of the set, in the order in which they are changed.
	Ordinals []Ordinal `json:"ordinals"`
	// Findings are those of the checks. Refused is true if one of them is more than a warning.
	Findings []plan.Finding `json:"findings"`
	Refused  bool           `json:"refused"`
	Summary  Summary        `json:"summary"`
}

// Template is a claim template of the change.
type Template struct {
	Name   string           `json:"name"`
	Method api.VolumeMethod `json:"method"`
	// Changes are its fields that change.
	Changes []Change `json:"changes,omitempty"`
}

// Change is a field of a claim template that changes. An empty text means none.
type Change struct {
	Field drift.Field `json:"field"`
	From  string      `json:"from"`
	To    string      `json:"to"`
}

// Ordinal is a replica.
type Ordinal struct {
	Ordinal int32 `json:"ordinal"`
	// Behind is true if one of its claims is not as the wanted template.
	Behind bool     `json:"behind"`
	Claims []Judged `json:"claims"`
	// Outage is how long it is expected to be down; nil if it is not stopped.
	Outage *view.Outage `json:"outage,omitempty"`
}

// Judged is a claim of an ordinal, with the work that it needs.
type Judged struct {
	Name     string             `json:"name"`
	Template string             `json:"template"`
	Volume   string             `json:"volume,omitempty"`
	Work     Work               `json:"work"`
	Differs  []drift.Difference `json:"differences,omitempty"`
	Unknown  []drift.Note       `json:"unknown,omitempty"`
	// Bytes is the size of the volume that is copied, or the number of its bytes in use, if that was measured. It is 0 if
	// none is.
	Bytes int64 `json:"bytes,omitempty"`
}

// Work is the work on a claim.
type Work string

// The works. The first three let the ordinal run, and the next two stop it once.
const (
	Nothing  Work = "nothing"
	Expand   Work = "expand"
	Modify   Work = "modify"
	Copy     Work = "copy"
	Snapshot Work = "snapshot"
	// Impossible is work that no method does in place. A finding has the reason.
	Impossible Work = "impossible"
)

// stops reports whether the ordinal is stopped for the work.
func (w Work) stops() bool { return w == Copy || w == Snapshot }

// Summary counts.
type Summary struct {
	// Replicas is the number of ordinals, Behind how many of them are behind, and Stopped how many of these are stopped
	// once.
	Replicas int `json:"replicas"`
	Behind   int `json:"behind"`
	Stopped  int `json:"stopped"`
	// ClaimsByWork is the number of claims by their work.
	ClaimsByWork map[Work]int `json:"claimsByWork"`
	// CopiedBytes is the sum of the bytes of all claims.
	CopiedBytes int64 `json:"copiedBytes,omitempty"`
	// Budget is how many replicas may be unavailable at once; 0 if it is not known.
	Budget int32 `json:"budget,omitempty"`
}

// New returns the outlook. more are findings of checks that are no function of the state.
func New(s State, budget int32, more []plan.Finding) Plan {
	p := Plan{
		Cluster: s.Cluster, Namespace: s.Set.Namespace, StatefulSet: s.Set.Name,
		Templates: s.templates(), Ordinals: s.ordinals(), Findings: append([]plan.Finding{}, more...),
	}
	changes := slices.ContainsFunc(p.Templates, func(t Template) bool { return len(t.Changes) > 0 })
	p.Recreated, p.Updated = changes && !s.Updates, changes && s.Updates
	p.Refused = refuses(p.Findings)
	p.Summary = Summary{Replicas: len(p.Ordinals), Budget: budget, ClaimsByWork: map[Work]int{}}
	for _, o := range p.Ordinals {
		if o.Behind {
			p.Summary.Behind++
		}
		if o.Outage != nil {
			p.Summary.Stopped++
		}
		for _, c := range o.Claims {
			p.Summary.ClaimsByWork[c.Work]++
			p.Summary.CopiedBytes += c.Bytes
		}
	}
	return p
}

// refuses reports whether one of the findings is more than a warning.
func refuses(findings []plan.Finding) bool {
	return slices.ContainsFunc(findings, func(f plan.Finding) bool { return !f.Warning })
}

// Without returns the outlook without the findings of some reasons.
func (p Plan) Without(reasons ...string) Plan {
	p.Findings = slices.DeleteFunc(slices.Clone(p.Findings), func(f plan.Finding) bool { return slices.Contains(reasons, f.Reason) })
	p.Refused = refuses(p.Findings)
	return p
}

// Pending reports whether anything is left to do.
func (p Plan) Pending() bool { return p.Recreated || p.Updated || p.Summary.Behind > 0 }

// ordinals returns the ordinals, the highest first.
func (s State) ordinals() []Ordinal {
	all := []Ordinal{}
	for i := range s.Claims {
		c := &s.Claims[i]
		if last := len(all) - 1; last < 0 || all[last].Ordinal != c.Ordinal {
			all = append(all, Ordinal{Ordinal: c.Ordinal})
		}
		o := &all[len(all)-1]
		next := s.judge(c)
		o.Claims = append(o.Claims, next)
		o.Behind = o.Behind || next.Work != Nothing
		if next.Work.stops() {
			o.Outage = view.OutageOf(s.Outage, next.Work == Copy || o.copies())
		}
	}
	slices.Reverse(all)
	return all
}

// copies reports whether a claim of the ordinal is copied.
func (o Ordinal) copies() bool {
	return slices.ContainsFunc(o.Claims, func(c Judged) bool { return c.Work == Copy })
}

// judge returns the work of a claim.
func (s State) judge(c *Claim) Judged {
	judged := Judged{Name: c.Name, Template: c.Template.Name, Work: Impossible}
	if c.Found == nil {
		return judged
	}
	result := s.compare(c)
	judged.Volume, judged.Differs, judged.Unknown = c.Found.Spec.VolumeName, result.Differences, result.Unknown
	judged.Work = workOf(result, s.methodOf(c.Template.Name))
	if judged.Work.stops() {
		judged.Bytes = c.Used
		if judged.Bytes == 0 {
			judged.Bytes = sizeOf(c)
		}
	}
	return judged
}

func (s State) compare(c *Claim) drift.Result {
	return drift.Compare(drift.Pair{Template: c.Template, Claim: c.Found, Volume: c.Volume}, s.Classes)
}

// methodOf returns the method of a template. A template that the spec does not name keeps its volumes.
func (s State) methodOf(template string) api.VolumeMethod {
	return api.AskedOf(s.Volumes, template).Method
}

// workOf returns the work that a method does for a difference. The driver makes the changes that it can, whatever the method.
// For the others method Copy and method Snapshot fill a new volume.
func workOf(result drift.Result, method api.VolumeMethod) Work {
	need := result.Needs()
	switch {
	case len(result.Unknown) > 0 && need == drift.Nothing:
		return Impossible
	case need == drift.Nothing:
		return Nothing
	case need == drift.Refill, need == drift.Undecided, need == drift.Recreate:
		return Impossible
	case method == api.MethodEmpty:
		return Impossible
	case need == drift.Expand:
		return Expand
	case need == drift.Modify:
		return Modify
	case method == api.MethodCopy:
		return Copy
	case method == api.MethodSnapshot:
		return Snapshot
	default:
		return Impossible
	}
}

// sizeOf returns the size of a claim's volume in bytes.
func sizeOf(c *Claim) int64 {
	if c.Volume != nil {
		capacity := c.Volume.Spec.Capacity[corev1.ResourceStorage]
		return capacity.Value()
	}
	return requestOf(c.Found).Value()
}

// requestOf returns the requested size of a claim or a template.
func requestOf(claim *corev1.PersistentVolumeClaim) *resource.Quantity {
	return new(claim.Spec.Resources.Requests[corev1.ResourceStorage])
}
