// Package drift compares the claims of a StatefulSet with its claim templates. A template is immutable in apps/v1, and
// Kubernetes applies it only to new claims, so a running set can have claims that a new one would not get.
//
// Values are compared by their meaning: 1Gi equals 1024Mi, the order of access modes does not count, and a template without
// a class means the default class. A value whose meaning is not known is neither equal nor different.
package drift

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// Field is a field of a claim's spec.
type Field string

// The fields that are compared.
const (
	StorageClass    Field = "storageClassName"
	Size            Field = "storage"
	AttributesClass Field = "volumeAttributesClassName"
	AccessModes     Field = "accessModes"
	VolumeMode      Field = "volumeMode"
)

// The fields that are not compared, because they have no effect on a claim that has its volume.
const (
	Selector   Field = "selector"
	DataSource Field = "dataSource"
)

// Need is the work that removes a difference.
type Need string

// The needs, from the least to the most work.
const (
	// Nothing: Kubernetes is at work, or the difference has no effect.
	Nothing Need = "nothing"
	// Expand: the claim can be grown in place, by its request.
	Expand Need = "expand"
	// Modify: the volume can be modified in place, by the VolumeAttributesClass of the claim.
	Modify Need = "modify"
	// Recreate: the claim has no volume yet, and nothing is lost with it.
	Recreate Need = "recreate"
	// Copy: the data must be copied into a new volume.
	Copy Need = "copy"
	// Refill: the application itself must fill a new volume, from its peers or from a backup.
	Refill Need = "refill"
	// Undecided: the work depends on an object that cannot be read, or does not exist.
	Undecided Need = "undecided"
)

// effort orders the needs. An undecided need may turn out to be any of them.
var effort = []Need{Nothing, Expand, Modify, Recreate, Copy, Refill, Undecided}

// Difference is a field in which a claim differs from its template.
type Difference struct {
	Field Field `json:"field"`
	// Claim is the value of the claim or of its volume, and Template that of the template. An empty text means none.
	Claim    string `json:"claim"`
	Template string `json:"template"`
	Needs    Need   `json:"needs"`
	// Reason states why that is needed.
	Reason string `json:"reason"`
}

// Note is a field without a result, and the reason.
type Note struct {
	Field  Field  `json:"field"`
	Reason string `json:"reason"`
}

// Result is the comparison of a claim with its template. A field in none of the lists is equal.
type Result struct {
	Differences []Difference `json:"differences,omitempty"`
	// Unknown lists the fields that cannot be compared.
	Unknown []Note `json:"unknown,omitempty"`
	// Ignored lists the fields that differ without effect on a claim that exists.
	Ignored []Note `json:"ignored,omitempty"`
}

// Needs returns the most that a difference needs; Nothing without differences.
func (r Result) Needs() Need {
	most := Nothing
	for _, d := range r.Differences {
		if slices.Index(effort, d.Needs) > slices.Index(effort, most) {
			most = d.Needs
		}
	}
	return most
}

// Why returns the reason of the difference that needs the most; empty without differences.
func (r Result) Why() string {
	most := r.Needs()
	for _, d := range r.Differences {
		if d.Needs == most {
			return d.Reason
		}
	}
	return ""
}

// Behind reports whether work is left to do before the claim is as its template requires.
func (r Result) Behind() bool { return r.Needs() != Nothing }

// Classes holds the classes of a cluster. A list that could not be read is nil, and an empty list means that there are
// none.
type Classes struct {
	Storage    []storagev1.StorageClass
	Attributes []storagev1.VolumeAttributesClass
}

// Pair is a claim with its volume and its template. Volume is nil if it could not be read, or if there is none.
type Pair struct {
	Template, Claim *corev1.PersistentVolumeClaim
	Volume          *corev1.PersistentVolume
}

// Compare compares a claim with its template. It does not change them.
func Compare(p Pair, classes Classes) Result {
	c := comparison{Pair: p, classes: classes}
	c.storageClass()
	c.size()
	c.attributesClass()
	c.accessModes()
	c.volumeMode()
	c.ignored()
	return c.result
}

// comparison collects the result.
type comparison struct {
	Pair
	classes Classes
	result  Result
}

// bound reports whether the claim has a volume, or names the one that it gets.
func (c *comparison) bound() bool { return c.Claim.Spec.VolumeName != "" }

// differs adds a difference. Without a volume a new claim is all that is needed, and without the volume's object nothing
// can be done about the claim.
func (c *comparison) differs(d Difference) {
	switch {
	case c.Claim.Status.Phase == corev1.ClaimLost:
		d.Needs, d.Reason = Undecided, "the volume "+c.Claim.Spec.VolumeName+" of the claim does not exist any more"
	case !c.bound():
		d.Needs, d.Reason = Recreate, "the claim has no volume yet"
	}
	c.result.Differences = append(c.result.Differences, d)
}

func (c *comparison) unknown(field Field, reason string) {
	c.result.Unknown = append(c.result.Unknown, Note{field, reason})
}

func (c *comparison) ignore(field Field, reason string) {
	c.result.Ignored = append(c.result.Ignored, Note{field, reason})
}
